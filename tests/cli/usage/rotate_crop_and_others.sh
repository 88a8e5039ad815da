# crop= sets the size and the rule for pixels outside, so keys that say otherwise are refused.
cp "$SAMPLES/cells.png" in.png
climg in.png --rotate 3,crop=same,size=30x30 out.png
climg in.png --rotate 3,crop=same,outside=zero out.png
climg in.png --rotate 3,crop=same,outside=edge out.png
