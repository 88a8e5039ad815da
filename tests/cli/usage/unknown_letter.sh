timeout 10 climg "$SAMPLES/scene.png" -x out.png
