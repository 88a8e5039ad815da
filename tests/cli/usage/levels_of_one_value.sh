# A number and a percentage can be one value, depending on the samples.
cp "$SAMPLES/scene.png" in.png
cp "$SAMPLES/gradient16.png" wide.png
climg in.png --levels 255,100% out.png
climg in.png --levels 0%,0 out.png
climg wide.png --levels 10000,100% out.png
