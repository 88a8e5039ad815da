# Files of --report, --timing and --trace must not replace an input, an output or each other, by whatever
# path or link. Refused before anything is opened: no file changes, no folder is made.
cp "$SAMPLES/soft-alpha.png" in.png
cp in.png image # a name that says nothing
cp in.png kept
mkdir out
ln image hard
ln -s image soft
ln -s out/image yet # leads to what is yet to be made
for option in "--report " "--trace " --timing=json:; do
    climg ${option}in.png image --invert -f png o.png # its own name was forgotten
    climg ${option}image image --invert o.png
    climg ${option}soft in.png hard --invert -f png out
    climg ${option}hard - --invert o.png <image
    climg ${option}kept image --invert -f png ./kept
    climg ${option}kept image --invert -f png >>kept
    climg ${option}yet image in.png --invert out
    climg ${option}./new//file image --invert -f png new/file
    climg ${option}new/image image in.png --invert ./new/
done
climg --trace t --report ./t image --invert o.png
climg --trace yet --report out/image image --invert o.png
climg --trace soft --report hard in.png --invert o.png
echo $?
climg --trace t --timing=table:t in.png --invert o.png
# Standard output is one's alone, although it may be a device.
climg --report - in.png --invert
climg --report - --trace - in.png --invert o.png >/dev/null
climg --timing=json:- --trace - in.png --invert o.png >/dev/null
# A file that a stage reads is an input, too.
echo 1 2 1 >taps
for option in "--report " "--trace " --timing=json:; do
    climg ${option}taps in.png --convolve @./taps o.png
done
climg in.png --convolve @taps -f png -o taps
cat taps
for file in image in.png; do
    cmp $file kept
done
ls out
# A file that a stage writes is protected, too.
for file in in.png image hard taps t - out/image; do
    climg image --align in.png,matrix=$file --convolve @taps --trace t -f png out/image
done | wc -w # the matrix on standard output
climg image --align in.png,matrix=- -f png >/dev/null
climg image --align in.png,matrix=a --align in.png,matrix=b o.png
climg image in.png --align in.png,matrix=a out
# No clash: devices, and one name in two folders.
climg --trace /dev/null --report /dev/null image --invert -f png /dev/null
climg --trace out/image --report out/report image --invert -f png o.png
echo $?
