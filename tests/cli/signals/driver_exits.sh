# LLVM, in the driver, calls exit where it cannot write to its cache: as on a full disk, here beyond a limit.
mkdir cache out
(ulimit -f 64; POCL_CACHE_DIR=$PWD/cache CLIMG_SYSTEM_CACHE=$PWD/none climg "$SAMPLES/zoneplate.png" --blur 2.5 out/a.png) 2>&1 | grep '^climg'
echo "${PIPESTATUS[0]}"
ls -A out
rm -r cache out
