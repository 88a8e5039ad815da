# An error that concerns no single file is printed once, and the rest is not tried.
mkdir in
for name in a b c d; do
    cp "$SAMPLES/soft-alpha.png" in/$name.png
done
climg -j 1 -d nothing in out
echo $?
CLIMG_DEVICE=nothing climg -j 1 in out
# An error of one file does not stop the batch.
echo broken >in/b.png
climg -j 1 in out
echo $?
ls out
# A format that holds fewer bits concerns every file alike.
for name in 1 2 3; do
    mkdir -p deep
    cp "$SAMPLES/gradient16.png" deep/$name.png
done
climg -j 1 deep --format webp out
climg deep/1.png out/1.jpg
