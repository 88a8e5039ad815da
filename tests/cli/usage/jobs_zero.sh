timeout 1 climg -j 0 "$SAMPLES/scene.png" out.png
echo $?
timeout 1 climg --jobs 257 "$SAMPLES/scene.png" out.png
echo $?
timeout 1 climg --jobs=many "$SAMPLES/scene.png" out.png
