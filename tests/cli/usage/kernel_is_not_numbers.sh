climg "$SAMPLES/scene.png" --convolve '1 x 1' out.png
