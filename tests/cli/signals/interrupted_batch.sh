# A signal ends a batch at once: what is done stays whole, what was under way leaves nothing, and it is said. The
# batch cannot end by itself, as nobody writes to the pipe.
mkdir in out
for name in a b c d e f g h; do
    cp "$SAMPLES/scene.png" in/$name.png
done
mkfifo i.png
climg in i.png --scale 2 --compression 9 --report report out &
climg=$!
wait_for test -s report
kill -TERM $climg
wait $climg 2>/dev/null
status=$?
ls -A out | grep -c '^\.'
((status == 143)) || echo "exit status $status"
climg out --invert again && echo whole
rm -r out again report i.png
