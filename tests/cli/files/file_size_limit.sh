# Stands for a disk that gets full under a file: writing beyond 2 MiB fails with EFBIG. (Less would stop
# PoCL's compiler.)
climg "$SAMPLES/scene.png" old.png
cp old.png out.tif
trap '' XFSZ
ulimit -f 2048
climg "$SAMPLES/scene.png" --scale 4 out.tif
echo $?
climg "$SAMPLES/scene.png" --scale 4 new.png
status=$?
cmp old.png out.tif
exit $status
