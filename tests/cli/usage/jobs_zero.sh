climg -j 0 "$SAMPLES/scene.png" out.png
echo $?
climg --jobs 257 "$SAMPLES/scene.png" out.png
echo $?
climg --jobs=many "$SAMPLES/scene.png" out.png
