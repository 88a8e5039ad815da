# What cannot be read keeps its folder's name, so that it does not clash with others, and the rest is done.
mkdir -p tree/a tree/b
cp "$SAMPLES/scene.png" tree/y.png
ln -s nowhere tree/a/y.png
ln -s nowhere tree/b/y.png
climg -r tree --invert out/
echo $?
climg -r -n=json tree --invert out/ | grep -o '"output":"[^"]*"'
mkdir empty other
climg empty other --invert out/
echo empty >list
climg --files-from list --invert out/
echo other >>list
climg -r --files-from list --invert out/
