timeout 10 climg --memory texture "$SAMPLES/scene.png" out.png
