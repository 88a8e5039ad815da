climg "$SAMPLES/scene.png" --blur -1 out.png
