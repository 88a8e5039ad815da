touch none.png
timeout 1 climg none.png --blur 1 out.png
