# A killed run leaves a hidden file; the next one into the folder removes it, and touches no file that is not
# such a leftover, nor one that is still being written.
mkdir in out
cp "$SAMPLES/scene.png" in/a.png
hidden() { ls -A out | grep '^\.'; }
climg in --scale 8 --compression 9 out &
climg=$!
for ((i = 0; i < 2000; i++)); do
    hidden >/dev/null && break
    sleep 0.01
done
cp "$SAMPLES/soft-alpha.png" in/b.png
climg in/b.png "$SAMPLES/zoneplate.png" --blur 1 out
[[ $(hidden) == .a.png.climg-* ]] && echo alive
{ kill -KILL $climg; wait $climg; } 2>/dev/null
touch out/.mine.tmp out/.a.png.climg-0-1.tmp
[[ $(hidden) == *.a.png.climg-????????-* ]] && echo left
climg in/b.png "$SAMPLES/zoneplate.png" --blur 1 out
hidden
