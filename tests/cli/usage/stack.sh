# A stack makes one file of all inputs, once; a folder is none.
cp "$SAMPLES"/shots/[12].jpg .
mkdir out
climg 1.jpg 2.jpg --stack mean out
climg 1.jpg 2.jpg --stack mean new/
climg 1.jpg 2.jpg --stack mean --in-place
climg 1.jpg 2.jpg --stack mean --resume mean.png
climg 1.jpg 2.jpg --stack mean --range auto mean.png
climg 1.jpg 2.jpg --stack mean --stack median mean.png
climg 1.jpg 2.jpg --stack median,sigma=2 mean.png
climg 1.jpg 2.jpg --stack mean
climg 1.jpg 2.jpg --stack mean missing/mean.png
climg 1.jpg 2.jpg --stack mean -o 2.jpg
climg 1.jpg - --align previous --stack mean mean.png <2.jpg
climg <(cat 1.jpg) 2.jpg --align first --stack mean mean.png
climg 1.jpg 2.jpg --align previous --stack mean,pages=yes mean.png
# Without a stack an input may be the reference, but not the one before it; tiffcp joins files.
climg 1.jpg 2.jpg --align previous out
climg 1.jpg 2.jpg both.tif
