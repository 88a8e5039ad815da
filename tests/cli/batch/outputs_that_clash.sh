# Refused before anything is done: no folder is made, no file is written.
mkdir one two
cp "$SAMPLES/soft-alpha.png" one/a.png
cp one/a.png two/a.png
climg one/a.png -f tiff two/b.tif
climg one two --blur 1 out
echo $?
# Both are one folder that is there already; what one input becomes twice is done once.
mkdir -p out/a.png
climg one two --blur 1 out
echo $?
climg one out
echo $?
rm -r out
climg -f tiff one/a.png ./one//a.png out && ls out && rm -r out
ln -s ../one/a.png two/b.png
climg one two/b.tif -f png two
echo $?
rm two/b.png
climg -f png -r one two/b.tif one
echo $?
mkfifo two/pipe.ppm
cp one/a.png one/pipe.png
cp one/a.png one/pipe.tif
climg -f ppm one/pipe.png one/pipe.tif two
echo $?
rm one/pipe.* two/pipe.ppm
ln -s two/a.png b.tif
climg one two/b.tif two/a.png .
echo $?
