# The number of files at once is limited by the descriptors.
mkdir in
for i in {1..60}; do
    cp "$SAMPLES/zoneplate.png" in/$i.png
done
(ulimit -n 64; CLIMG_GROUP=1 climg -j 60 in --invert out)
ls out | wc -l
rm -r in
