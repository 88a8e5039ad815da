# Who closes a pipe has read enough; a place that takes nothing is another matter.
{
    sleep 0.2
    climg --help
    echo $? >status
} | true
cat status
climg --help >/dev/full
