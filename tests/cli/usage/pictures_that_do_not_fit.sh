# Stages that are made for certain pictures say so of others: once for each file, also in a group, and not of what fits.
"$PYTHON" - <<'END'
import numpy
from PIL import Image
rng = numpy.random.default_rng(1)
gray = rng.integers(0, 256, (64, 64)).astype("u1")
mask = (gray > 100).astype("u1") * 255
Image.fromarray(gray).save("gray.png")
Image.fromarray(mask).save("mask.png")
Image.fromarray(mask > 0).save("bits.png")
Image.fromarray(numpy.dstack([mask] * 3)).save("mask_rgb.png")
Image.fromarray(numpy.dstack([gray, gray[::-1], gray[:, ::-1]])).save("photo.png")
film = (numpy.linspace(0.2, 0.9, 4096).reshape(64, 64, 1) * (240, 160, 110)).astype("u1")
Image.fromarray(film).save("film.png")
for name, border in (("holder", 2), ("holes", 255)):
    film[:, :8] = border
    Image.fromarray(film).save(f"{name}.png")
END
try() {
    climg -y "$@" out.png 2>&1 | sed "s/^/${*:2}: /"
}
for name in gray mask bits mask_rgb photo; do
    try $name.png --despeckle 4
done
try gray.png --gray --threshold otsu --despeckle 4
try gray.png --invert --despeckle 4,objects=white
climg -y gray.png mask.png --despeckle 4 group/
for value in 128 50% otsu sauvola wolf; do
    try photo.png --threshold $value
    try photo.png --threshold $value,channels=each 2>&1 | grep -v "belongs to"
    try photo.png --gray --threshold $value
    try mask.png --threshold $value
done
for name in film holder holes; do
    try $name.png --negative
    try $name.png --negative=240,160,110
done
try holder.png --crop 56x64+8+0 --negative
try holes.png --crop 56x64+8+0 --negative
cp "$SAMPLES/gradient16.png" deep.png
for stage in "--threshold 128" "--levels 10,245" "--levels 0,65535" "--threshold 32768" "--levels 500,2000" "--threshold 1"; do
    try deep.png $stage
done
for stage in "--threshold 600" "--levels 0,65535" "--levels 100%,4095" "--levels=-20,300" "--threshold 255" "--negative=60000"; do
    try film.png $stage
done
