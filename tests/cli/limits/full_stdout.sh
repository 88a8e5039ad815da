# Text that cannot be printed is a failure.
climg --list-devices >/dev/full
