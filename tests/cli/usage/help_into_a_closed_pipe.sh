# A closed pipe is no error: its reader has read enough. A full disk is one.
mkfifo pipe
exec 3<>pipe 4>pipe
exec 3<&-
climg --help >&4
echo $?
climg --help >/dev/full
status=$?
rm pipe
exit $status
