# Half of a picture comes; the signal comes when the output's hidden file is there.
hidden() { ls -A | grep '^\.'; }
mkfifo in.png
climg in.png --scale 8 out.png &
climg=$!
exec 3<>in.png
head -c 200000 "$SAMPLES/scene.png" >&3
wait_for hidden >/dev/null
hidden | wc -l
kill -TERM $climg
wait $climg 2>/dev/null
status=$?
rm in.png
exit $status
