touch plain
climg "$SAMPLES/scene.png" --blur 1 plain/out.png
