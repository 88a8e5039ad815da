climg "$SAMPLES/scene.png" --scale 2,filter=box out.png
