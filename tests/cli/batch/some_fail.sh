# A broken file, a missing one, and a folder that cannot be made are reported; the rest is done. One worker fixes the order.
mkdir -p in/sub
climg "$SAMPLES/soft-alpha.png" in/a.png
cp in/a.png in/sub/b.png
cp in/a.png in/z.png
head -c 100 in/a.png >in/broken.png
mkdir out
echo in the way >out/sub
climg -j 1 -r in missing.tif --scale 1/2 out
status=$?
ls out
exit $status
