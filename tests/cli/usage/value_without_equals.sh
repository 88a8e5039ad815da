climg "$SAMPLES/scene.png" --wavelet 4 out.png
