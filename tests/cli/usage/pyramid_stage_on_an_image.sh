timeout 1 climg "$SAMPLES/scene.png" --inverse-wavelet out.png
