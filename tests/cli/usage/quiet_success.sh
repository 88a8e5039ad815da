climg "$SAMPLES/scene.png" --wavelet --scale 1/4 out.png
