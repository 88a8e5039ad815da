# The number of stages is checked before anything is opened.
stages=$(printf ' --invert%.0s' {1..257})
climg missing.png $stages out.png
climg "$SAMPLES/zoneplate.png" ${stages# --invert} out.png && ls
