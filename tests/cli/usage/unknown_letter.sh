timeout 1 climg "$SAMPLES/scene.png" -x out.png
