# Items of GDAL's tag that have no value, before one that has: the search for its end does not begin anew with each.
"$PYTHON" - <<'END'
import numpy, tifffile
items = '<Item name="a"/>' * 200000 + '<Item name="b">v</Item>'
tifffile.imwrite("in.tif", numpy.zeros((2, 2), "u1"), extratags=[(42112, "s", 0, f"<GDALMetadata>{items}</GDALMetadata>", True)])
END
(ulimit -t 5; climg in.tif out.tif)
grep -ao '<Item name="[ab]"[^<]*' out.tif
rm in.tif out.tif
