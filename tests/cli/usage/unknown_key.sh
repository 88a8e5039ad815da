climg "$SAMPLES/scene.png" --scale 2,filtre=bilinear out.png
