printf '1 2\n3\n' >kernel.txt
climg "$SAMPLES/scene.png" --convolve @kernel.txt out.png
