cp "$SAMPLES/scene.png" a.png
ln -s a.png b.png
climg a.png --scale 1/2 b.png
od -An -tx1 -j16 -N8 a.png
readlink b.png
