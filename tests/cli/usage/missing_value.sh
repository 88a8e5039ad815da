climg "$SAMPLES/scene.png" --blur
