# Once new/ was made, new/../a.png would be a.png.
mkdir in there
climg "$SAMPLES/scene.png" --crop 8x8 in/a.png
cp in/a.png in/b.png
cp in/a.png same.png
cd in
climg a.png b.png --invert new/..
climg -n a.png b.png --invert new/..
climg a.png --invert new/../a.png
climg a.png --invert new/./../
climg a.png b.png --invert ../new/../in
climg a.png b.png --invert ../there/../in
cd ..
climg in/a.png --invert there/../out.png
climg in/a.png --invert ..out.png
climg in/a.png in/b.png --invert --report new/../in/r.jsonl out
cmp in/a.png same.png && cmp in/b.png same.png
