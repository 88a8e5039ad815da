cp "$SAMPLES/scene.png" a.png
ln -s a.png b.png
climg a.png --scale 1/2 b.png
echo $?
climg b.png --scale 1/2 --in-place
od -An -tx1 -j16 -N8 a.png
readlink b.png
