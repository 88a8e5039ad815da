cp "$SAMPLES/scene.png" a.png
climg a.png --scale 1/2 a.png
echo $?
climg a.png --scale 1/2 a.png --in-place
od -An -tx1 -j16 -N8 a.png
