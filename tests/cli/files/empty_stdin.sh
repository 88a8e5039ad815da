timeout 1 climg --blur 1 - out.png </dev/null
