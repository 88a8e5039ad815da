# Levels that an image has not; tiles much larger than their image; more samples a pixel than colours and alpha; rows wider than
# the device's images; parts without end; outputs that are made of too many samples; memory of which --verify has half,
# and of which a share is never none, which would be no limit.
climg "$SAMPLES/zoneplate.png" --wavelet=12 out.tif
"$PYTHON" - <<'END'
import struct
import numpy, tifffile
tifffile.imwrite("samples.tif", numpy.zeros((9, 9, 5), "u1"), planarconfig="contig", photometric="rgb")
tifffile.imwrite("wide.tif", numpy.zeros((2, 100000), "u1"))
tags = [(256, 9), (257, 9), (258, 8), (259, 1), (262, 1), (277, 1), (322, 8192), (323, 8192), (324, 8), (325, 9)]
with open("tile.tif", "wb") as file:
    file.write(b"II*\0" + struct.pack("<IH", 8, len(tags)) + b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags) + bytes(4))
END
climg tile.tif --invert out.tif
climg samples.tif --invert out.tif
climg -m image wide.tif --invert out.tif
climg "$SAMPLES/zoneplate.png" --warp "1000 0 0 0 1000 0,size=1000x1000" out.tif
climg "$SAMPLES/zoneplate.png" --warp "1000 0 0 0 1000 0,size=100x100,antialias=no" out.png
climg --shard 1/1000001 samples.tif wide.tif --invert out
climg "$SAMPLES/zoneplate.png" --wavelet --mosaic --memory-limit 1M --verify=1 out.tif
rm out.png *.tif
climg "$SAMPLES/zoneplate.png" "$SAMPLES/scene.png" -j 2 --memory-limit 1 out
climg "$SAMPLES/zoneplate.png" --memory-limit 1 --verify=1 out.tif
