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
# Named before the stages, not even then.
climg a.png b.png --scale 1/2
cp "$SAMPLES/scene.png" b.png
# A stack's pictures are often made by climg.
climg --stack max a.png a.png -o new.png && climg a.png a.png new.png --stack max
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
# Pictures in a folder that may be an input, too: nothing is written.
mkdir 2023 2024
cp "$SAMPLES/scene.png" 2023/a.png
cp "$SAMPLES/scene.png" 2023/b.png
cp "$SAMPLES/soft-alpha.png" 2024/b.png
climg 2023/ 2024/ --scale 1/2
climg -r 2023 2024
echo 2023/b.png >list
climg --files-from=list 2024/
climg --files-from list 2024/ --scale 1/2
climg --scale 1/2 2023/a.png --files-from list 2024/
rm list
ls 2024
cmp 2024/b.png "$SAMPLES/soft-alpha.png"
# Outputs of climg are replaced, also without a text Software if they are copies of the inputs or in --resume's list.
climg 2023/ 2024/ --scale 1/2 --yes && climg -r 2023 2024
climg 2023 copies -f jpeg --strip && climg -r copies out/ && climg -r copies out/
climg 2023 stripped --strip --resume && climg 2023 stripped --scale 1/2 --strip --resume
climg 2023 stripped --strip
rm -r 2023 2024 copies out stripped
