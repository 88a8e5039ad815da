echo 'not a picture' >note.png
timeout 10 climg note.png --blur 1 out.png
