# Built without jansson and ISA-L (make ISAL=no JANSSON=no): what needs JSON read says so, all else works.
bare() {
    "$(dirname "$(realpath "$(command -v climg)")")/climg-bare" "$@"
    echo "exit $?"
}
bare --version | tail -n 2
bare "$SAMPLES/scene.png" --rotate 90 --rotate -90 same.png
bare "$SAMPLES/scene.png" --wavelet=2 c.tif
climg c.tif --inverse-wavelet again.png
for made in same again; do
    climg "$made.png" -f ppm - | cmp - <(climg "$SAMPLES/scene.png" -f ppm -)
done
bare c.tif --inverse-wavelet no.png
bare --info c.tif | head -n 1
bare --info=json c.tif | grep -o '"levels":2\|"pyramid":null'
bare --warm
rm c.tif
