climg "$SAMPLES/scene.png" --blur 1 nowhere/out.png
climg "$SAMPLES/scene.png" --blur 1 /proc/nowhere/below/
climg "$SAMPLES/scene.png" --stack focus,depth=nowhere/map.png out.png
# The folder is checked before the device is opened, but after the input.
touch plain
climg "$SAMPLES/scene.png" --blur 1 --device 99 nowhere/out.png
climg "$SAMPLES/scene.png" --blur 1 --device 99 plain/out.png
climg missing.png --blur 1 nowhere/out.png
