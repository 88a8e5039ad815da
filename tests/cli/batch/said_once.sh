# What is wrong with no file in particular is said once, and the rest is not tried.
mkdir in
for name in a b c d; do
    cp "$SAMPLES/soft-alpha.png" in/$name.png
done
climg -j 1 -d nothing in out
echo $?
CLIMG_DEVICE=nothing climg -j 1 in out
# What is wrong with one file is no reason to stop.
echo broken >in/b.png
climg -j 1 in out
echo $?
ls out
