# Text that cannot be printed is a failure, and no further file is read: of the pipe nothing comes.
climg --list-devices >/dev/full
echo $?
cp "$SAMPLES/soft-alpha.png" a.png
mkfifo pipe
for option in "--info --measure" --check "--compare a.png"; do
    timeout 60 climg $option -j 1 a.png a.png a.png pipe >/dev/full
    echo $?
done
climg --check --report r a.png a.png >/dev/full # the report is made all the same
echo $? $(wc -l <r)
