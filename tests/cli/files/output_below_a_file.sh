touch plain
timeout 1 climg "$SAMPLES/scene.png" --blur 1 plain/out.png
