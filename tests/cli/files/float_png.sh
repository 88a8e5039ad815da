cp "$SAMPLES/scene.png" in.png
timeout 10 climg in.png --depth float out.png
