# The last line of a run names the longest part: aligning, which the host does, is one. The first run only compiles.
climg "$SAMPLES/scene.png" --resize 200% big.png
mkdir in
for name in a b c d; do
    cp big.png in/$name.png
done
climg big.png --align big.png out.png
climg -j 1 --progress always in --align big.png out 2>&1 | tr '\r' '\n' |
    sed -nE 's/.*(climg: 4 files), in .*(, longest part: [a-z]+, )[0-9]+%$/\1\2N%/p'
