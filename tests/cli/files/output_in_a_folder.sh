# A folder that exists, or a name that ends in a slash, takes one output as it takes many.
mkdir pictures
climg "$SAMPLES/scene.png" --scale 1/4 pictures
climg "$SAMPLES/scene.png" --scale 1/4 made/
climg "$SAMPLES/scene.png" --scale 1/4 -f tif --output named/
ls pictures made named
