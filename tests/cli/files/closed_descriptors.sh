# Standard input or output that is closed, or open the other way, fails with what is so; no file takes its number.
for format in png tiff ppm; do
    climg "$SAMPLES/soft-alpha.png" --format $format - >&-
    echo $?
done
climg "$SAMPLES/soft-alpha.png" - 1</dev/null
climg - out.png <&-
echo $?
climg - out.png 0>in.png
climg - --info <&-
climg --files-from - --invert out <&-
climg "$SAMPLES/soft-alpha.png" --info >&-
climg "$SAMPLES/soft-alpha.png" --report - out.png >&-
echo $?
climg "$SAMPLES/soft-alpha.png" out.png <&- >&- 2>&-
echo $?
