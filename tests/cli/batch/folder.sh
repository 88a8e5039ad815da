# A folder gives its images, by name or by first bytes: not the hidden ones, not other files, not its folders.
mkdir -p in/sub
climg "$SAMPLES/soft-alpha.png" in/a.png
cp in/a.png in/.hidden.png
cp in/a.png in/no-extension
cp in/a.png in/other.dat
cp in/a.png in/sub/d.png
climg in/a.png in/B.TIFF
echo text >in/README.txt
ln -s ../in/a.png in/link.png
ln -s ../in in/loop
mkfifo in/pipe.png
mkdir others
cp in/README.txt others/b.gif
cp in/README.txt others/a.heic
climg others --scale 1/2 out
mv others/* in
climg in --scale 1/2 out
echo $?
climg -q in --scale 1/2 out
ls -A out
file -b out/other.png out/B.TIFF | cut -c1-4
