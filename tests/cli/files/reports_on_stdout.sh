# Standard output takes what is told about the work, where the pixels go elsewhere.
climg "$SAMPLES/soft-alpha.png" --invert --report - out.png | grep -o '"status":"done"'
climg "$SAMPLES/soft-alpha.png" --invert --trace - out.png | head -n 2
climg "$SAMPLES/soft-alpha.png" --invert --timing=json:- out.png | grep -o '"stage":"invert"'
climg "$SAMPLES/soft-alpha.png" --invert --timing=table:times out.png
grep -o '^wall clock' times
climg "$SAMPLES/soft-alpha.png" --invert --timing=json:no/times out.png
climg "$SAMPLES/soft-alpha.png" --invert --report - out.png >/dev/full
echo $?
