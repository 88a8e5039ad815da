climg "$SAMPLES/scene.png" --blur abc out.png
