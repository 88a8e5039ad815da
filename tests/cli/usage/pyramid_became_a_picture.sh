# The stage that needs a pyramid is told which one took it.
climg a.png --wavelet --invert --shrink b.png
climg a.png --wavelet --mosaic --blur 2 --shrink b.png
climg a.png --wavelet --inverse-wavelet --shrink b.png
climg c.tif --blur 2 --inverse-wavelet b.png
