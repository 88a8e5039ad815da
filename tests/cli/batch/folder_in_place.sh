# The files of a folder may replace themselves.
mkdir in
climg "$SAMPLES/scene.png" in/a.png
cp in/a.png in/b.png
climg in --scale 1/2 in
echo $?
climg in --scale 1/2 in --in-place
echo $?
od -An -tx1 -j16 -N8 in/a.png
od -An -tx1 -j16 -N8 in/b.png
