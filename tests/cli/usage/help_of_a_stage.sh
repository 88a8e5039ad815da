timeout 1 climg --help=blur | grep -c -e --blur -e truncate >/dev/null && echo told
timeout 1 climg --help=blurr
