# The pictures of a stack are counted, and its result is not. Those that are left out have not failed.
cp "$SAMPLES"/shots/[12].jpg .
echo text >4.jpg
climg -j 1 -v 1.jpg 2.jpg 4.jpg --stack mean mean.png 2>&1 | sed -nE 's/(climg: .*), [0-9.]+ s$/\1/p; s/(climg: 3 files.*), in .*/\1/p'
mkfifo 5.jpg
climg -j 1 1.jpg 5.jpg --report report --stack mean other.png 2>said &
climg=$!
exec 3<>5.jpg
wait_for test -s report
kill -TERM $climg
wait $climg 2>/dev/null
echo $?
cat said
rm said report
