climg "$SAMPLES/scene.png" --convolve @kernel.txt out.png
