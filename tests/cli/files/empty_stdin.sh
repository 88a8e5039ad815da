climg --blur 1 - out.png </dev/null
