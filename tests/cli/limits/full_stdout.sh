# What could not be printed is a failure.
climg --list-devices >/dev/full
