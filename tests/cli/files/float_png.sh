cp "$SAMPLES/scene.png" in.png
timeout 1 climg in.png --depth float out.png
