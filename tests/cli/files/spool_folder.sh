# Data from or to a pipe that must be complete is kept in TMPDIR.
export TMPDIR=none
climg --format tiff <"$SAMPLES/scene.png" >out.tif
cat out.tif
climg "$SAMPLES/scene.png" in.tif
cat in.tif | climg - out.png
mkdir none
cat in.tif | climg --format tiff | cmp - in.tif
ls -A none
(ulimit -f 512; climg "$SAMPLES/scene.png" --scale 4 --format tiff | wc -c)
