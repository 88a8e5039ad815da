timeout 10 climg "$SAMPLES/scene.png" --scale 3 out.png
