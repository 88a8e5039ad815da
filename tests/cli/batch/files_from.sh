# Inputs from a list: of lines or divided by NUL, a file or a pipe, beside others; their outputs go to a directory.
mkdir in
for name in a b 'c d' "e
f"; do
    cp "$SAMPLES/soft-alpha.png" "in/$name.png"
done
printf 'in/a.png\n\nin/c d.png' >list # the last line need not be ended
climg --files-from list out
ls out
echo --- NUL, beside another input
find in -name '[!b]*' -name '*.png' -print0 | climg -n --files-from - -0 in/b.png out
echo --- directories, and -o
echo in | climg -n --files-from - --invert -o new/
echo --- in place
(cat list; echo) >copy
climg -n --files-from copy --in-place --invert
echo --- a file that is not there
echo missing.png >>copy
climg --files-from copy out
echo --- "wrong ($?)"
climg --files-from list
climg --files-from list out.png
climg --files-from list --files-from copy out
climg --files-from no list out
climg --files-from /dev/null out
climg --files-from in/a.png out
climg --files-from /dev/zero -0 out
yes '' | climg --files-from - out
head -c 5000 /dev/zero | tr '\0' a | climg --files-from - out
climg -0 in out
climg --files-from list --report list out
climg --files-from list --in-place -o out
echo - | climg --files-from - out
cat list; echo
