mkdir in empty
cp "$SAMPLES/soft-alpha.png" in/a.png
mkdir empty/below
climg in --blur 1 >pixels
echo $?
climg in --blur 1 out.png
echo $?
# The name of a film is not one of a folder.
climg in --blur 1 out.gif
climg in/a.png in/a.png --blur 1 out.mp4
climg empty --blur 1 out
echo $?
climg -r empty --blur 1 out
echo $?
# A shell pattern whose last file would be the output.
climg "$SAMPLES/soft-alpha.png" x.png
cp x.png y.png
cp x.png z.png
climg x.png y.png z.png --blur 1
echo $?
climg x.png y.png --blur 1 z.png # this is an output
climg x.png y.png none.png --blur 1
echo $?
climg x.png y.png --blur 1 -o z.png
echo $?
