# The report of --check overwrites no file that the command reads.
mkdir in
cp "$SAMPLES/soft-alpha.png" in/a.png
cp "$SAMPLES/soft-alpha.png" in/b.png
cp in/a.png picture
echo in/a.png >names
climg --check --report in/*.png
climg --check picture --report ./picture
climg --check --files-from names --report names
cmp in/a.png "$SAMPLES/soft-alpha.png"
cmp in/a.png picture
cat names
