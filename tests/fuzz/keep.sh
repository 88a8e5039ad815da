#!/bin/sh
# Makes tests/fuzz/corpus of what `make fuzz` found: of the files below 1500 bytes as few as reach all that they reach together.
# Usage: tests/fuzz/keep.sh build
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
found=$1/fuzz
for target in $(cd "$root/tests/fuzz" && ls *.c | sed 's/\.c$//' | grep -vx replay); do
    rm -rf "$found/small" "$found/kept/$target"
    mkdir -p "$found/small" "$found/kept/$target" "$root/tests/fuzz/corpus"
    find "$found/$target" "$found/seeds/$target" -type f -size -1500c -exec cp {} "$found/small/" \;
    "$1/obj-fuzz/fuzz/$target" -set_cover_merge=1 -timeout=60 "$found/kept/$target" "$found/small"
    tar -C "$found/kept" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -cf - "$target" |
        gzip -9n > "$root/tests/fuzz/corpus/$target.tar.gz"
done
