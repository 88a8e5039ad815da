# A forgotten file name must not cost an image; a report that cannot be written costs nothing but itself.
cp "$SAMPLES/soft-alpha.png" a.png
cp a.png b.png
climg --report a.png b.png out
echo $?
cmp a.png b.png && echo same
ls
climg --report no/where.jsonl a.png b.png out
echo $?
climg --report /dev/full a.png b.png --blur 1 out
echo $?
ls out
# So do names of images that climg does not read: *.nef may have been expanded.
echo raw >a.nef
climg --report a.nef b.nef --blur 1 out/
cat a.nef
