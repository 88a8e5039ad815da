# Errors in the middle of a batch: an input disappears, a folder cannot be made. climg waits at a pipe
# meanwhile. The rest is done.
mkdir -p in/sub out
for name in a c z sub/d; do
    cp "$SAMPLES/soft-alpha.png" in/$name.png
done
mkfifo b.png
climg -j 1 -r in b.png --blur 1 out &
climg=$!
wait_for test -e out/a.png
rm in/c.png
touch out/sub
cat "$SAMPLES/soft-alpha.png" >b.png
wait $climg
echo $?
ls -A out
