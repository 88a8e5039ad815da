climg missing.png --blur 1 out.png
