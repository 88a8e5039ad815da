climg "$SAMPLES/scene.png" --convolve '1 x 1' out.png
climg "$SAMPLES/scene.png" --convolve '0x10 1' out.png
