# Numbers from 0 to 1 where samples are integers, and more than 1% of the samples clipped.
/usr/bin/python3 - <<'END'
import numpy, tifffile
x = numpy.arange(256, dtype="u1")
tifffile.imwrite("ramp.tif", numpy.tile(x, (64, 1)), metadata=None)
tifffile.imwrite("deep.tif", numpy.tile(x.astype("u2") * 257, (64, 1)), metadata=None)
tifffile.imwrite("float.tif", numpy.tile(x.astype("f4") / 255, (64, 1)), metadata=None)
tifffile.imwrite("steps.tif", numpy.tile(x // 16 % 2 * 255, (64, 1)), metadata=None)
END
for stage in "--threshold 0.5" "--threshold 0.01" "--levels 0,1" "--levels 0.1,0.9" "--levels 5%,1" "--levels 0.2,90%" \
    "--levels 1,0" "--blur 1 --threshold 0.5" "--threshold 300" "--levels 300,400"; do
    climg ramp.tif $stage out.tif 2>&1 | sed "s/^/$stage: /"
    climg deep.tif $stage out.tif 2>&1 | sed "s/^/$stage: /"
    climg float.tif $stage out.tif
done
for size in 4x3 3x4 4x3+0+0 4x3,gravity=north 3x3 24x20 6x5 4:3; do
    climg ramp.tif --crop $size out.tif 2>&1 | sed "s/^/$size: /"
done
for stage in "--threshold 0" "--threshold 1" "--threshold 50%" "--levels 0,255" "--levels 0,2" "--levels 0,100%" "--levels 5%,95%" "--levels 5%,0" "--negative=200,1" "--levels auto" \
    "--sharpen 0.01"; do
    climg ramp.tif $stage out.tif
done
for stage in "--sharpen 1" "--convolve=-1,3,-1" "--gradient" "--wavelet --gain 1:4 --inverse-wavelet" "--blur 1 --sharpen 3"; do
    climg steps.tif $stage out.tif 2>&1 | sed "s/^/$stage: /"
    climg -q steps.tif $stage out.tif
    climg steps.tif $stage --depth float out.tif
done
