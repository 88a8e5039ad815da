# Two ways to write one file: what is done to it twice, or what takes the place of another output, is refused, also where
# no file is there yet. Hard links become files of their own.
mkdir in out
climg "$SAMPLES/zoneplate.png" in/a.png
cp in/a.png before.png
ln -s a.png in/b.png
climg --invert --in-place in
echo $?
climg --invert --in-place in/a.png ./in/a.png
echo $?
cmp in/a.png before.png
ln in/a.png in/c.png
climg --invert --in-place in/a.png in/c.png in/./c.png
echo $?
cp in/a.png out/b.png
ln -s b.png out/a.png
climg in/a.png in/b.png out
echo $?
rm in/b.png
climg --invert --in-place in
echo $?
[ in/a.png -ef in/c.png ] || cmp in/a.png in/c.png
climg --invert --in-place in/a.png
climg in/a.png a.pgm && climg before.png before.pgm && cmp a.pgm before.pgm
# Yet to be made: below a link to a folder, and where a link to no file leads.
mkdir -p deep/x deep/y below/y new
cp before.png deep/x/a.png
cp before.png deep/y/a.png
ln -s y below/x
climg --recursive --invert deep below
echo $?
cp before.png deep/y/b.png
ln -s b.png new/a.png
climg --invert deep/y new
echo $?
rm below/x new/a.png
climg --recursive --invert deep below && climg --invert deep/y new
find below new -name '*.png' | sort
