touch plain
timeout 10 climg "$SAMPLES/scene.png" --blur 1 plain/out.png
