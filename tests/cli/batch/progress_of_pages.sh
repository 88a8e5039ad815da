# The line of a file of several pages counts pages. In a stream their number is unknown, and so is the time left.
"$PYTHON" -c 'from PIL import Image
picture = Image.new("RGB", (8, 8))
picture.save("page.ppm")
picture.save("pages.tif", save_all=True, append_images=[picture, picture])'
mkfifo stream
climg - --invert -f ppm --progress always - <stream >pages.ppm 2>shown &
climg=$!
exec 3>stream
for count in '1 page' '2 pages' '3 pages'; do
    cat page.ppm >&3
    wait_for grep -qs "$count" shown
    sleep 0.2
done
exec 3>&-
wait $climg
on_lines() { tr '\r' '\n' | sed -nE '/preparing kernels/d; s/^\x1b\[K(climg:)/\1/p'; } # a busy machine takes its time to load kernels
on_lines <shown | sed 's/, [0-9.]* MP.s//'
climg --progress always pages.tif --invert out.tif 2>&1 | on_lines | sed -n 1p
printf 'YUV4MPEG2 W2 H2\nFRAME\n123456FRAME\n123456' | climg - --invert --progress always - 2>&1 >video | on_lines | sed -n 1p
