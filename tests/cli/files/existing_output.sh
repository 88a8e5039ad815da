# A pattern that matches two files must not cost the second one.
cp "$SAMPLES/soft-alpha.png" a.png
cp "$SAMPLES/scene.png" b.png
climg *.png --scale 1/2
echo $?
cmp b.png "$SAMPLES/scene.png"
# Also after the stages or options, unless climg made it, or --yes permits it.
climg --scale 1/2 *.png
climg --stack max *.png
climg --strip *.png
cmp b.png "$SAMPLES/scene.png" && climg --scale 1/2 a.png b.png --yes && climg --scale 1/4 a.png b.png
cp "$SAMPLES/scene.png" b.png
climg --stack max a.png a.png -o new.png && climg --stack max a.png a.png new.png
climg "$SAMPLES/zoneplate.png" new.pgm && climg --invert "$SAMPLES/zoneplate.png" new.pgm
rm new.png new.pgm
climg a.png --scale 1/2 b.png
cp "$SAMPLES/scene.png" b.png
climg a.png b.png --scale 1/2 --yes
od -An -tx1 -j16 -N8 b.png
climg a.png new.png --scale 1/2
climg a.png /dev/null -f png --scale 1/2
# Without a stage, too.
rm new.png
cp "$SAMPLES/scene.png" b.png
climg *.png --strip
cmp b.png "$SAMPLES/scene.png" && climg a.png b.png
