timeout 10 climg -j 0 "$SAMPLES/scene.png" out.png
echo $?
timeout 10 climg --jobs 257 "$SAMPLES/scene.png" out.png
echo $?
timeout 10 climg --jobs=many "$SAMPLES/scene.png" out.png
