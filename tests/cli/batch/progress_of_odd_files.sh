# A name may hold what terminals obey, a list may hold files for which the time left is no int. A long name is not cut within a character.
name=$'a\e[31m.png'
"$PYTHON" -c 'from PIL import Image; Image.new("L", (8, 8)).save("small.png")'
cp "$SAMPLES/scene.png" "$name"
CLIMG_SLICE=64 climg --progress always "$name" --blur 2 rows.png 2>&1 | tr '\r' '\n' | sed -nE 's/^\x1b\[K(climg: 64 of 512 rows: .*)/\1/p' | cat -v
accents=aéééééééééééééééééééééééééééééééééééééééé.png
cp "$name" $accents
CLIMG_SLICE=64 climg --progress always $accents --blur 2 rows.png 2>&1 | tr '\r' '\n' | grep -a -m 1 '64 of 512 rows' | iconv -f UTF-8 -t UTF-8 >/dev/null &&
    echo whole characters
climg -j 1 -v --progress never "$name" small.png --blur 2 out 2>&1 | sed -nE 's/(climg: . of 2: .*), [0-9.]+ s$/\1/p' | cat -v
climg -v "$name" --denoise rows.png 2>&1 | cat -v | grep 31m | cut -d: -f2,3 | cut -c1-35
echo broken >z.png
truncate -s 4T z.png
climg -j 1 --progress always small.png z.png --invert out 2>&1 | tr '\r' '\n' | grep -ao '[0-9:-]* left'
rm -r "$name" $accents z.png small.png rows.png out
