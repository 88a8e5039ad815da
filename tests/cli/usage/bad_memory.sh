timeout 1 climg --memory texture "$SAMPLES/scene.png" out.png
