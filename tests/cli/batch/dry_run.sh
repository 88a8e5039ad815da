# Says what would be done and does nothing; no driver is looked for.
export OCL_ICD_VENDORS=$PWD/none
mkdir -p in/sub
cp "$SAMPLES/soft-alpha.png" in/b.png
touch in/a.tif in/sub/c.png
climg -n -r in/ missing.png --blur 1 -f tiff out
echo $?
climg -n in/b.png --blur 1 c.tif
echo $?
