# Files that an earlier run has done count neither as done nor as work to do. The last one has 4 TiB by its size.
"$PYTHON" -c 'from PIL import Image; Image.new("L", (8, 8)).save("small.tif")'
mkdir in
cp small.tif in/z.tif
truncate -s 4T in/z.tif
climg --resume -q in/z.tif --invert out/
cp small.tif in/a.tif
cp small.tif in/b.tif
climg -j 1 --resume --progress always in --invert out 2>&1 | tr '\r' '\n' |
    sed -nE 's/.*(1 of 3 files), (.*, )?0:0[0-9] left.*/\1, seconds left/p'
