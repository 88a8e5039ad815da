# libtiff words what is wrong.
climg "$SAMPLES/scene.tif" --blur 1 warm.tif && rm warm.tif
head -c 100000 "$SAMPLES/scene.tif" >cut.tif
climg cut.tif --blur 1 out.tif
