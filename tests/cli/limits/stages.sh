# The number of stages is checked before anything is opened.
stages=$(printf ' --invert%.0s' {1..257})
climg missing.png $stages out.png
climg "$SAMPLES/zoneplate.png" ${stages# --invert} out.png && ls
# Inserted stages do not count: here a mosaic.
climg "$SAMPLES/zoneplate.png" ${stages#* --invert --invert} --wavelet=1 out.png && ls
