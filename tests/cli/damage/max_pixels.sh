climg --max-pixels 262143 "$SAMPLES/scene.png" out.png
