timeout 10 climg "$SAMPLES/scene.png" --inverse-wavelet out.png
