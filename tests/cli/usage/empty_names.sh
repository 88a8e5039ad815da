# A name that is empty, as of a variable that is not set, is told before anything is done.
for option in --trace --report --output --files-from --device; do
    climg in.png --invert $option '' out.png
done
climg "" --invert out.png
climg in.png --invert ""
