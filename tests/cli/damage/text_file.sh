echo 'not a picture' >note.png
timeout 1 climg note.png --blur 1 out.png
