climg "$SAMPLES/scene.png" -f png /dev/full
echo $?
climg "$SAMPLES/scene.png" -f tiff /dev/full
echo $?
climg "$SAMPLES/scene.png" >/dev/full
echo $?
