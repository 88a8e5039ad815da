timeout 1 climg "$SAMPLES/scene.png" out.jpg
