climg "$SAMPLES/scene.png" --blurr 2 out.png
