timeout 10 climg "$SAMPLES/scene.png" --scale 2,filter=lanczos out.png
