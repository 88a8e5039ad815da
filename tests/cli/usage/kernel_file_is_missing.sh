timeout 1 climg "$SAMPLES/scene.png" --convolve @kernel.txt out.png
