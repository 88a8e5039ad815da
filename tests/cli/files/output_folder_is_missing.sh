climg "$SAMPLES/scene.png" --blur 1 nowhere/out.png
climg "$SAMPLES/scene.png" --blur 1 /proc/nowhere/below/
