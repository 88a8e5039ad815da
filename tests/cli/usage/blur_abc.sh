timeout 10 climg "$SAMPLES/scene.png" --blur abc out.png
