# --info answers in the order of the names; the files of a folder are sorted.
mkdir in
for name in in/b in/a z y; do
    climg "$SAMPLES/soft-alpha.png" $name.png
done
climg --info z.png in y.png z.png | grep -o '^[a-z/]*.png'
