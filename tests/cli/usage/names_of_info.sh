# A name's control characters never reach the terminal, and a channel that is no alpha is not called so.
esc=$(printf '\033')
cp "$SAMPLES/soft-alpha.png" "a${esc}[31mb.png"
climg --info "a${esc}[31mb.png"
"$PYTHON" - <<'END'
import struct
rows = bytes(range(12))  # two pixels of three rows, gray and a channel of no meaning
tags = [(256, 3, 1, 2), (257, 3, 1, 3), (258, 3, 2, 8 | 8 << 16), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8), (277, 3, 1, 2),
        (278, 3, 1, 3), (279, 4, 1, 12), (338, 3, 1, 0)]
with open("two.tif", "wb") as file:
    file.write(b"II*\0" + struct.pack("<I", 20) + rows + struct.pack("<H", len(tags)))
    for tag in tags:
        file.write(struct.pack("<HHII", *tag))
    file.write(bytes(4))
END
climg --info --measure two.tif | grep -E 'values|clipped'
climg two.tif --invert inverted.tif
climg two.tif --compare inverted.tif | grep PSNR
rm ./*.png
