# As in file_size_limit: the large output does not fit, the small ones next to it do. One after the other, as LLVM, inside
# the driver, takes the signal for its own and removes what it is compiling into.
mkdir in
climg "$SAMPLES/soft-alpha.png" --scale 1/8 in/a.tif
climg "$SAMPLES/scene.png" in/b.tif
cp in/a.tif in/c.tif
climg -j 1 in --scale 4 warm # compiling the kernels writes files, too
rm -r warm
trap '' XFSZ
ulimit -f 2048
climg -j 1 in --scale 4 out
echo $?
ls -A out
