# Half of a picture comes, then nothing: climg waits for the rest when the signal comes.
mkfifo in.png
climg in.png --blur 1 out.png &
climg=$!
exec 3<>in.png
head -c 200000 "$SAMPLES/scene.png" >&3
sleep 0.5
kill -TERM $climg
wait $climg 2>/dev/null
