# Two ways to write one file: it is done once, and two files that would become it are refused, also where no file
# is there yet. Hard links become files of their own.
is_inverted() { climg "$1" a.pgm && climg before.png --invert before.pgm && cmp -s a.pgm before.pgm && echo inverted || echo as before; }
mkdir in out
climg "$SAMPLES/zoneplate.png" in/a.png
cp in/a.png before.png
ln -s a.png in/b.png
climg --invert --in-place in
is_inverted in/a.png
climg --invert --in-place in/a.png ./in/a.png in/b.png in/a.png
is_inverted in/a.png
ln in/a.png in/c.png
climg --invert --in-place in/a.png in/c.png in/./c.png
is_inverted in/a.png
is_inverted in/c.png
[ in/a.png -ef in/c.png ] || cmp in/a.png in/c.png
mkdir -p out
ln -s b.png out/a.png
climg in/a.png in/b.png out
echo $?
is_inverted out/b.png
ln -sf ../before.png in/b.png
climg in/a.png in/b.png out
echo $?
rm a.pgm before.pgm
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
