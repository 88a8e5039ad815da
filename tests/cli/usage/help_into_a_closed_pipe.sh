# Who closes a pipe has read enough; a place that takes nothing is another matter.
mkfifo pipe
exec 3<>pipe 4>pipe
exec 3<&-
climg --help >&4
echo $?
climg --help >/dev/full
status=$?
rm pipe
exit $status
