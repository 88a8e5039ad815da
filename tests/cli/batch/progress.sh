# script(1) makes stderr a terminal. The line is drawn over itself, and taken away before anything else is said.
# Nothing of it without a terminal, with -q, or when not wanted.
mkdir in
for name in b d; do
    climg "$SAMPLES/scene.png" in/$name.png
done
echo broken >in/a.png
echo broken >in/c.png
on_terminal() { script -qec "$*" /dev/null | tr -d '\r' | sed -E 's/\x1b\[K/\n<erase>/g' | sed '/^$/d; /climg: preparing kernels/d'; } # that line depends on time
on_terminal climg -j 1 in --blur 2 out >shown
grep -q '^<erase>climg: [1-4] of 4 files, [12] failed' shown && echo some
grep -v '^<erase>climg: [1-4] of 4 files' shown | sed 's/^<erase>\(climg: 4 files\)/\1/; s/ in .* s, .*/ .../'
echo --- quiet
on_terminal climg -j 1 -q in --blur 2 out
echo --- never
on_terminal climg -j 1 --progress never in/b.png in/d.png --blur 2 out
echo --- no terminal
climg -j 1 in/b.png in/d.png --blur 2 out
climg -j 1 --progress always in/b.png in/d.png --blur 2 out 2>&1 | grep -c $'\r\e\\[Kclimg: 1 of 2 files'
climg in/b.png --blur 2 --progress always b.png
echo --- verbose
on_terminal climg -j 1 -v in/d.png in/b.png --blur 2 out | sed -E '/OpenCL driver|confined:/d; s/ (XDG_CACHE_HOME|TMPDIR)=[^ ]*//g; s/: image of .*//; s/[0-9.]+ s.*/N s .../'
on_terminal climg -j 1 -v --resume in/d.png in/b.png --blur 2 out | sed -E '/OpenCL driver|confined:/d' | sed -n 2p
rm shown
echo --- one file, by its rows
export CLIMG_SLICE=64
climg --progress always "$SAMPLES/scene.png" --blur 2 rows.png 2>shown
tr '\r' '\n' <shown | sed -nE 's/^\x1b\[K(climg: 64 of 512 rows: ).*/\1.../p'
tail -c 4 shown | od -An -c
echo --- large files of a batch, too
climg -j 1 --progress always in/b.png in/d.png --blur 2 large/ 2>&1 | grep -c $'\r\e\\[Kclimg: 0 of 2 files'
climg "$SAMPLES/scene.png" --blur 2 rows.png
climg -q --progress always "$SAMPLES/scene.png" --blur 2 rows.png
on_terminal climg --progress never "$SAMPLES/scene.png" --blur 2 rows.png
rm shown
