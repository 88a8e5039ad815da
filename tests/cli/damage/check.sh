# --check names every damaged file, of the others what was compared, and writes nothing.
mkdir in in/deep
cp "$SAMPLES/gradient16.png" in/whole.png
cp "$SAMPLES/photo.jpg" in/whole.jpg
climg "$SAMPLES/photo.jpg" --wavelet=2 in/pyramid.tif
climg "$SAMPLES/photo.jpg" --compression fast in/deflate.tif
climg "$SAMPLES/photo.jpg" in/plain.tif
climg "$SAMPLES/photo.jpg" in/deep/whole.ppm
climg "$SAMPLES/photo.jpg" in/whole.webp
"$PYTHON" - <<'END'
def damage(name, to, at, size=None):
    data = bytearray(open(f"in/{name}", "rb").read()[:size])
    if at is not None:
        data[at] ^= 16
    open(f"in/{to}", "wb").write(data)

text = open("in/whole.png", "rb").read()
damage("whole.png", "flip.png", len(text) // 2)
damage("whole.png", "sum_of_end.png", len(text) - 1)
damage("whole.png", "short.png", None, 2000)
damage("deflate.tif", "flip.tif", 1000)
damage("pyramid.tif", "flipped_pyramid.tif", 100000)
damage("whole.jpg", "short.jpg", None, 30000)
for name in ("whole.png", "whole.jpg", "whole.webp"):
    open(f"in/more.{name[6:]}", "wb").write(open(f"in/{name}", "rb").read() + b"more")
open("in/empty.png", "wb")
END
climg --check in | sed 's/^/in order: /'
echo "--- -r, quiet, report"
climg --check -r -q -j 1 in --report report.jsonl
echo $?
grep -c '"failed"' report.jsonl
grep '"input":"in/deep/whole.ppm"' report.jsonl
echo "--- one file, and a pipe"
climg --check in/whole.jpg
climg --check in/flip.png
echo $?
climg --check - <in/whole.png
climg --check in/pyramid.tif --page 1
echo "--- usage"
climg --check in/whole.png --invert
climg --check in/whole.png --info
climg --check none.png
rm -r in
