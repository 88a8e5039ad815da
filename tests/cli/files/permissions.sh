# A new file has what the umask leaves; a replaced file keeps its own.
umask 027
climg "$SAMPLES/soft-alpha.png" new.png
install -m 604 /dev/null old.png
climg "$SAMPLES/soft-alpha.png" old.png
stat -c %a new.png old.png
