climg "$SAMPLES/scene.png" --blur 1 warm.png && rm warm.png
head -c 200000 "$SAMPLES/scene.png" >cut.png
climg cut.png --blur 1 out.png
