touch none.png
climg none.png --blur 1 out.png
