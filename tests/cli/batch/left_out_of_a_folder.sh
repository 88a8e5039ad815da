# Files of a folder that are left out: one format with advice, several with their numbers, all of them by name with -v.
mkdir -p one tree/deep nothing
cp "$SAMPLES/cells.png" one/a.png
cp "$SAMPLES/cells.png" tree/a.png
for name in one/b.heic one/c.heic tree/alt.bmp tree/b.GIF tree/d.nef tree/notes.txt tree/deep/e.heic nothing/a.gif nothing/b.bmp; do
    echo "no picture that climg reads" >"$name"
done
climg one out/ --gray
climg -r tree out/ --gray
climg -q -r tree out/ --gray
climg -v -r tree out/ --gray 2>&1 | grep "left out"
climg -r --dry-run tree out/ --gray
climg nothing out/ --gray
