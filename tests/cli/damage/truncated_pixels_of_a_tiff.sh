# libtiff words what is wrong.
# The folder of tags stands before the pixels here, so that only the last strips are missing.
"$PYTHON" - <<'END'
import numpy, tifffile
tifffile.imwrite("cut.tif", numpy.zeros((200, 200, 3), "u1"), photometric="rgb", rowsperstrip=10)
END
truncate -s 60000 cut.tif
climg cut.tif out.tif
