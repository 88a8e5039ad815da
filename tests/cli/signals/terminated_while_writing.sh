# A large output takes a while; the signal comes as soon as its hidden file is there.
hidden() { ls -A | grep -c '^\.'; }
climg "$SAMPLES/scene.png" --scale 8 --compression 9 out.png &
climg=$!
for ((i = 0; i < 2000 && $(hidden) == 0; i++)); do
    sleep 0.01
done
hidden
kill -TERM $climg
wait $climg 2>/dev/null
