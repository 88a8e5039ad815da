cp "$SAMPLES/scene.png" in.png
climg in.png --depth float out.png
