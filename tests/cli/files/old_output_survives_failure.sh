head -c 200000 "$SAMPLES/scene.png" >cut.png
echo precious >out.png
climg cut.png --blur 1 out.png
status=$?
cat out.png
exit $status
