timeout 1 climg "$SAMPLES/scene.png" --blur abc out.png
