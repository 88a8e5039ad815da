climg "$SAMPLES/zoneplate.png" --convolve $'1 2\n3 4' out.png
