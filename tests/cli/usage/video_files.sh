# Video is piped through ffmpeg.
printf '\0\0\0\x20ftypisom\0\0\2\0' >film.mp4
printf '\x1a\x45\xdf\xa3 and so on' >film.dat
cp film.mp4 film.mov
climg film.mp4 --blur 1 out.png
climg film.dat --blur 1 out.png
climg "$SAMPLES/scene.png" --blur 1 clean.mp4
climg none.mkv --blur 1 out.png
mkdir in
cp "$SAMPLES/soft-alpha.png" in/a.png
mv film.* in
climg in --blur 1 out
