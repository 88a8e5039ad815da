# Not even root can make files in /sys.
climg "$SAMPLES/scene.png" --blur 1 /sys/out.png
