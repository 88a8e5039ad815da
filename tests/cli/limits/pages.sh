# More pages than are read; one of them can be chosen all the same.
"$PYTHON" "$CASES/limits/make_many_pages.py" 65537 >in.tif
climg in.tif --invert out.tif
climg in.tif --page 65537 --invert out.png && ls
rm in.tif
