# Images that follow one another are pages: what is appended to the input would be read without end. A file called - is no
# stream.
climg "$SAMPLES/zoneplate.png" a.pgm
size=$(stat -c %s a.pgm)
climg a.pgm --invert >>a.pgm
echo $?
climg --invert <a.pgm >>a.pgm
echo $?
[ $size = $(stat -c %s a.pgm) ] || echo "a.pgm was written to"
cp "$SAMPLES/soft-alpha.png" ./-
climg ./- --invert >b.png
echo $?
climg ./- --invert --in-place
