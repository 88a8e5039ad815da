# --check shows the number of files, or the rows of a single one, and takes the line away before it prints anything else.
for name in a b; do
    climg "$SAMPLES/scene.png" $name.png
done
echo broken >c.png
climg --check --progress always -j 1 a.png b.png c.png 2>&1 | tr '\r' '\n' | sed -E 's/^\x1b\[K//; /^climg: [1-3] of 3 files($|, )/d; s/, [0-9.]+ MP.*/, .../; s/in [0-9.]+ s.*/in .../' | uniq
echo --- one file, by its rows
climg "$SAMPLES/scene.png" --border 1000 large.ppm
climg --check --progress always large.ppm 2>&1 | tr '\r' '\n' | sed -nE 's/^\x1b\[K(climg: [0-9]+ of 2512 rows): large.ppm/some rows/p' | uniq
echo --- none
climg --check a.png b.png
climg --check -q --progress always a.png b.png
climg --check -v --progress always a.png b.png 2>&1 | grep -v confined
