# What is in the way of a stack: inputs that fail are left out, pictures that are not alike end it.
cp "$SAMPLES"/shots/[123].jpg .
cp "$SAMPLES/scene.png" .
echo text >text.png
climg 1.jpg text.png gone.png 2.jpg --stack mean mean.png
climg 1.jpg text.png 2.jpg --stack mean,strict=yes strict.png
climg 1.jpg scene.png 2.jpg --stack mean sizes.png
climg 1.jpg 2.jpg --gray --stack mean gray.png
climg text.png --stack mean none.png
climg 1.jpg --wavelet=2 out.tif
climg out.tif 1.jpg --stack mean,strict=yes pages.png
climg . --stack median,edges=crop --dry-run median.png
ls
