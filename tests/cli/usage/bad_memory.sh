climg --memory texture "$SAMPLES/scene.png" out.png
