# A signal ends a batch at once: what is done stays whole, what was under way leaves nothing, and it is said.
mkdir in out
for name in a b c d e f g h; do
    cp "$SAMPLES/scene.png" in/$name.png
done
climg in --scale 2 --compression 9 out &
climg=$!
for ((i = 0; i < 2000 && $(ls out | wc -l) == 0; i++)); do
    sleep 0.01
done
kill -TERM $climg
wait $climg 2>/dev/null
status=$?
ls -A out | grep -c '^\.'
((status == 143)) || echo "exit status $status"
climg out --invert again && echo whole
rm -r out again
