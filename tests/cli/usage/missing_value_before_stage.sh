climg "$SAMPLES/scene.png" --blur --scale 2 out.png
