climg "$SAMPLES/scene.png" --scale 3 out.png
