# A picture that needs another reduction than the first one cannot be registered to it, at any confidence.
cp "$SAMPLES/cells.png" small.png
climg small.png --scale 4,filter=nearest large.png
climg large.png small.png large.png --align previous,confidence=0,matrix=found.csv --stack mean out.png
grep small found.csv
