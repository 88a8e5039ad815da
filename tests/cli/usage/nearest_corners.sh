climg "$SAMPLES/scene.png" --scale 2,filter=nearest,grid=corners out.png
