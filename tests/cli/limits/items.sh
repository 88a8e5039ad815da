# Texts in GDAL's tag, each of which takes a file 25 bytes: those beyond the limit are left out, and said to be.
"$PYTHON" - <<'END'
import numpy, tifffile
items = "".join(f'<Item name="k{i}">v</Item>' for i in range(80000))
tifffile.imwrite("in.tif", numpy.zeros((2, 2), "u1"), extratags=[(42112, "s", 0, f"<GDALMetadata>{items}</GDALMetadata>", True)])
END
(ulimit -t 5; climg -v in.tif --invert out.tif 2>&1) | grep -o 'texts beyond the limit'
grep -ao '<Item name="k[0-9]*"' out.tif | wc -l
rm in.tif out.tif
