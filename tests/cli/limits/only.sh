# A file's first bytes decide, not its name: a JPEG that is called .png is refused, and so is an image that --align or the command's
# second input names.
cp "$SAMPLES/photo.jpg" photo.png
cp "$SAMPLES/zoneplate.png" zoneplate.jpg
climg photo.png --only png --invert out.png
climg zoneplate.jpg --only png --crop 2x2 out.png
climg zoneplate.jpg --only png --align photo.png out.png
climg zoneplate.jpg photo.png --only jpeg,webp --crop 2x2 out/
climg --info zoneplate.jpg --only tiff,pnm
climg zoneplate.jpg --crop 2x2 a.pgm
climg --info a.pgm --only tiff,pnm
climg a.pgm --only ppm out.png
climg a.pgm --only ppm,gif out.png
climg a.pgm --only , out.png
