# Files beside the pictures may be anything: nothing is read without end.
climg "$SAMPLES/zoneplate.png" --convolve @/dev/zero a.png
head -c 40000000 /dev/zero | tr '\0' '1' >ones
climg "$SAMPLES/zoneplate.png" --convolve @ones a.png
rm ones
