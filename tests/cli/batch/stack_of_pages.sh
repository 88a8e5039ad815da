# Pages that were merged before a failure are told; pictures that have to be turned are, also if others are not.
printf 'P5 2 2 255\n\310\310\310\310' >good.pgm
{ printf 'P5 2 2 255\nAAAA'; printf 'P5 2 2 255\nBBBB'; printf 'P5 2 2 255\nC'; } >short.pgm
climg good.pgm short.pgm --stack mean,pages=yes mean.pgm
echo $?
od -An -tu1 -j 11 mean.pgm
"$PYTHON" - <<'P'
import numpy, tifffile
for i in (1, 3):
    tifffile.imwrite(f"{i}.tif", numpy.full((4, 4), 9 * i, numpy.uint8), extratags=[(274, 3, 1, i, True)])
P
climg 1.tif 3.tif --stack mean turned.tif
echo $?
