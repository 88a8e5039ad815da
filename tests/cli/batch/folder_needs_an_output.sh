mkdir in empty
cp "$SAMPLES/soft-alpha.png" in/a.png
mkdir empty/below
climg in --blur 1 >pixels
echo $?
climg in --blur 1 out.png
echo $?
climg empty --blur 1 out
echo $?
climg -r empty --blur 1 out
echo $?
