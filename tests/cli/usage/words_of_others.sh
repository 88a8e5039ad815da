# Options of other programs, and the hints on them.
for words in "--negate" "--threads 4" "-denoise" "-format png" "--overwrite" "--unsharp-mask 1" "--usage" \
    "--grayscale" "--greyscale" "--frame 10" "--saturation 2" "--mirror h" "--scale 2x" "--scale 50%" "--scale 3" "--blur 2px" "--blur 1.5x" "--blur 1,5" "--rotate 3,5" "--denoise=0x20" "--convolve 1,1/1e-40,1e-40" "--output" "-q 90" \
    "--gamma 2" "--sobel" "--normalize" "--brightness 10" "--contrast 10" "--pad 10" "--background 5,light" "--levels 5" \
    "--crop 10" "--crop inside" "--extend 10" "--median 5x5" "--denoise=high" "--rank 3x3,percent=20" "--crop 10x10+1+1,gravity=north" \
    "--dpi 300" "--suffix _small" "--max-size 500k" "--colors 16" "--border 5,white" "--resize 5x5,fit=fill" "--levels auto channels=each" \
    "--denoise --sharpen 1 quality=high" "--blur 5x2" "--minus 600" "--over 2" "--denoise strong" "--gray red" "--deskew 40%" "--strip 1" "--resize 5x5 --filter lanczos" \
    "--gray --threshold sauvola --radius 15" "--denoise --strength 2" "--gravity north" "--fuzz 5%" "--gray=r" "--blur sigma=2" "--denoise=sigma=5,levels=3" "--threshold auto" "--extend 600x600,white" \
    "--gaussian-blur 2" "--annotate text" "--modulate 100,120" "--lat 25x25" "--strip-metadata" "--jpeg"; do
    climg a.png $words b.png
done
climg a.png --convolve "0 -1 0 / -1 5 -1 / 0 -1 0" b.png
climg a.png --convolve "0 -1 0; -1 5 -1; 0 -1 0" b.png
climg https://example.org/a.png --invert b.png
climg a.png blur 2 b.png
climg '*.png' --invert b.png
climg help
climg a.gif b.png
climg "$SAMPLES/soft-alpha.png" --scale 0.5 b.gif
printf 'GIF89arest' >photo.gif
climg photo.gif b.png
touch blur # a file of that name is one
climg blur b.png
climg --help=negate
climg --help=png
climg --help=orientation
touch kernel.txt
climg a.png --convolve kernel.txt b.png
climg a.png --convolve "3x3:0,-1,0,-1,5,-1,0,-1,0" b.png
climg --help --invert | head -n 1
climg --help blur | head -n 1
climg --help=-o
climg --blur --help | head -n 1
climg a.png --denoise -h | head -n 1
climg -V | head -n 1
# Just as well as tiff and png.
climg "$SAMPLES/soft-alpha.png" -f tif -o b
climg "$SAMPLES/soft-alpha.png" -f PNG -o c
echo "$(head -c 2 b) $(head -c 4 c | tail -c 3)"
