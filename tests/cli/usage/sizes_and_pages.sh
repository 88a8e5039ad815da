# Exponents of two digits are sizes; pages that no file can have are no range in the wrong order.
climg "$SAMPLES/soft-alpha.png" --memory-limit 1e10 --invert out.png
climg "$SAMPLES/soft-alpha.png" --memory-limit 1e40 --invert out.png
climg "$SAMPLES/soft-alpha.png" --page 99999999999- --invert out.png
climg "$SAMPLES/soft-alpha.png" --page -0 --invert out.png
climg "$SAMPLES/soft-alpha.png" --page 3-2 --invert out.png
