# Taps of a kernel, along an axis and in a file.
climg "$SAMPLES/zoneplate.png" --convolve "$(seq -s ' ' 1024)" out.png
seq -s ' ' 1024 >wide
climg "$SAMPLES/zoneplate.png" --convolve @wide out.png
seq 1024 >tall
climg "$SAMPLES/zoneplate.png" --convolve @tall out.png
rm wide tall
