timeout 1 climg --page 2 "$SAMPLES/scene.png" out.png
