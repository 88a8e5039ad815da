# A value that is nearly right is guessed: capitals, units, signs at its end, a number of pixels, the whole word of a letter.
cp "$SAMPLES/cells.png" in.png
cp in.png other.png
for value in "--crop 5x5,gravity=top" "--stack average" "--resize 800px" "--resize 800" "--resize 800X600" "--resize 1600x1600," "--gray=Red" "--gray=luma" "--flip Horizontal" \
    "--rotate left" "--rotate 90ccw" "--crop 100X100" "--border 10px" "--edge Mirror --blur 1" "--depth 16bit" "--threshold OTSU" \
    "--blur 1,color=Red" "--border 5,color=White" "--quality 90%" "--sharpen 150%" "--rank 3,percent=50%" "--blur 2PX" "--denoise high" "--denoise normal" "--profile AdobeRGB" \
    "--median 3,disc" "--background 50,divide" "--resize 20x20,cover" "--crop 10x10,center" "--align first,affine" "--align last" "--align last.png"; do
    climg in.png $value out.png
done
# A word without an equals sign may be a file; srgb is a name in any case.
climg in.png --gray red -f png && ls red
climg in.png --denoise high other.png
climg in.png --profile sRGB srgb.png && climg --info srgb.png | grep Software
climg in.png other.png --stack mean
climg in.png other.png --align First --stack mean stacked.png
