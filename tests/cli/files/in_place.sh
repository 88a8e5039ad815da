# Each input becomes its own output, whole or not at all.
cp "$SAMPLES/soft-alpha.png" a.png
cp "$SAMPLES/soft-alpha.png" b.png
head -c 900 a.png >c.png
cp c.png damaged.png
climg a.png b.png c.png --scale 1/2 --in-place
echo $?
od -An -tx1 -j16 -N8 a.png
od -An -tx1 -j16 -N8 b.png
cmp c.png damaged.png
climg --invert --in-place </dev/null
echo $?
climg a.png --invert --in-place -o d.png
