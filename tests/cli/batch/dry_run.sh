# Says what would be done and does nothing; no driver is looked for. What terminals obey in a name is not printed.
export OCL_ICD_VENDORS=$PWD/none
mkdir -p in/sub
cp "$SAMPLES/soft-alpha.png" in/b.png
touch in/a.tif in/sub/c.png
climg -n -r in/ missing.png --blur 1 -f tiff out
echo $?
climg -n in/b.png --blur 1 c.tif
echo $?
cp in/b.png $'in/\xc2\x9b31m\xc2\xa0\x7f\x9b\xf0\x9f\x9b\x80.png'
climg -n in/*31m* out | cat -v
