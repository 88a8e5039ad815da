climg "$SAMPLES/scene.png" -x out.png
