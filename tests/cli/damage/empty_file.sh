touch none.png
timeout 10 climg none.png --blur 1 out.png
