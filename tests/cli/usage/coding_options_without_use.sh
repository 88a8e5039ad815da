# --quality, --subsampling and --compression are refused where no output has them.
mkdir in mixed
climg "$SAMPLES/soft-alpha.png" in/a.png
climg in/a.png --gray --flip h mixed/a.jpg 2>/dev/null
cp in/a.png mixed/b.png
for command in "in/a.png --quality 85 out.png" "in/a.png -f tiff --quality 85 out.dat" "in --quality 85 out" "in --subsampling 4:2:0 out" \
    "mixed/a.jpg --compression best out.jpg" "mixed/a.jpg --compression 0 out.pgm" "mixed -f png --quality 30 out" "-f ppm in --compression fast out" "in --progressive out"; do
    climg $command --blur 1
    echo $?
done
climg - --blur 1 --quality 85 <in/a.png >piped
echo $?
climg mixed --blur 1 --quality 85 out && climg mixed --blur 1 --compression best out && climg in/a.png --compression best out.png && ls out
rm -r piped
