# --depth 1 and PBM hold only black and white, and say how to get there; nothing is left of an output that failed.
climg "$SAMPLES/page.jpg" --gray --threshold 50% --depth 1 one.png
climg one.png --depth 1 two.tif
climg --info two.tif | head -1
climg two.tif --depth 1 three.pbm && head -c 2 three.pbm && echo
climg "$SAMPLES/page.jpg" --gray --depth 1 gray.png
climg "$SAMPLES/page.jpg" --gray gray.pbm
climg "$SAMPLES/page.jpg" --threshold 50% --depth 1 colour.png
climg one.png --depth 1 lossy.jpg
climg one.png --depth 1 lossy.webp
climg one.png --depth 1 -f pam lossy
climg one.png --depth 8 eight.pbm
