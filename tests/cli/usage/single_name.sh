# A single name is the input, also in a pipe, where it was meant to be the output. A name that no format writes is only missing.
cat "$SAMPLES/scene.png" | climg --resize 30x out.png
echo $?
climg --resize 30x out.png <"$SAMPLES/scene.png"
climg --resize 30x out.png </dev/null
cat "$SAMPLES/scene.png" | climg --resize 30x missing
cat "$SAMPLES/scene.png" | climg - --resize 30x out.png
