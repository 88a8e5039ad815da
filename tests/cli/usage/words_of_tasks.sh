# Words for what people want to do.
for word in merge convert equalize stats straighten bw clahe auto-level average mean focus-stack dilate erode open close top-hat dark subtract flat \
    diff srgb icc exif metadata autocrop turn width height white-balance shadows exposure strength montage text shave; do
    climg in.png --$word out.png
done
