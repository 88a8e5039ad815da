# Lines that end in CR LF, and a byte order mark before the first name; a file may be called so.
climg "$SAMPLES/soft-alpha.png" a.png
cp a.png b.png
cp a.png $'c.png\r'
printf '\xef\xbb\xbfa.png\r\n\r\nb.png\r\nc.png\r\n' >list
climg -j 1 --files-from list --blur 1 out && ls -b out && rm -r out
printf '\xef\xbb\xbfa.png\nnone.png\r\n' | climg --files-from - --blur 1 out
echo $?
ls out && rm -r out
printf '\xff\xfea\0.\0p\0n\0g\0\n\0' >list
climg --files-from list --blur 1 out
echo $?
# A file that is listed several times is done once.
printf 'a.png\n./a.png\nb.png\na.png\n' >list
climg -n --files-from list a.png --blur 1 out
