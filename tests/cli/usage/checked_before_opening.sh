climg missing.png --blur 2 --scale 3 nowhere/out.png
