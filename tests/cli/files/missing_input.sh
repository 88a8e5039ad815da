timeout 1 climg missing.png --blur 1 out.png
