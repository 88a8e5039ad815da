climg --depth 12 "$SAMPLES/scene.png" out.png
