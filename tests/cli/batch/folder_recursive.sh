# Folders are mirrored, the extension follows --format, a link that leads round in circles is not followed, and an
# output inside the input is never an input: twice.
mkdir -p in/x/y in/.git
for name in in/a.png in/x/b.tif in/x/y/c.PNG in/.git/d.png; do
    climg "$SAMPLES/soft-alpha.png" "$name"
done
ln -s .. in/x/loop
for round in 1 2; do
    climg -r in/ -f png --scale 1/2 in/x/out/
    echo $?
done
(cd in && find . -type f | sort)
