echo 'not a picture' >note.png
climg note.png --blur 1 out.png
