climg "$SAMPLES/scene.png" --inverse-wavelet out.png
