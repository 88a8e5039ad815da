climg --page 2 "$SAMPLES/scene.png" out.png
