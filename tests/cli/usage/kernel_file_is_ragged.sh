printf '1 2\n3\n' >kernel.txt
timeout 10 climg "$SAMPLES/scene.png" --convolve @kernel.txt out.png
