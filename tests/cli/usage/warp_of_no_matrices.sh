# A series of matrices without any.
cp "$SAMPLES/cells.png" in.png
echo file,a,b,tx,c,d,ty,confidence >found.csv
climg in.png --warp @found.csv out.png
climg in.png --warp @found.csv --stack mean out.png
