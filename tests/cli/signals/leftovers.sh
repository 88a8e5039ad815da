# A killed run leaves a hidden file; the next one into the folder removes it, and touches no file that is not
# such a leftover, nor one that is still being written. Half of a.png comes, so that it is being written until then.
mkdir in out
hidden() { ls -A out | grep '^\.'; }
mkfifo in/a.png
climg in/a.png --scale 8 out &
climg=$!
exec 3<>in/a.png
head -c 200000 "$SAMPLES/scene.png" >&3
wait_for hidden >/dev/null
cp "$SAMPLES/soft-alpha.png" in/b.png
climg in/b.png "$SAMPLES/zoneplate.png" --blur 1 out
[[ $(hidden) == .a.png.climg-* ]] && echo alive
{ kill -KILL $climg; wait $climg; } 2>/dev/null
touch out/.mine.tmp out/.a.png.climg-0-1.tmp
[[ $(hidden) == *.a.png.climg-????????-* ]] && echo left
climg in/b.png "$SAMPLES/zoneplate.png" --blur 1 out
hidden
