"$PYTHON" "$CASES/damage/make_huge_png.py" 60000 >huge.png
climg huge.png --scale 1/2 out.png
