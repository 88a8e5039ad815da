# With --output all files are inputs, wherever they stand; two of them need a directory, which stdout is not.
cp "$SAMPLES/soft-alpha.png" a.png
cp "$SAMPLES/soft-alpha.png" b.png
climg -o out.png --invert a.png
climg a.png b.png --invert --output=out
climg a.png b.png --invert -o -
echo $?
climg a.png --invert -o - | cmp - out.png
ls out
