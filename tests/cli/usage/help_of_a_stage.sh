timeout 10 climg --help=blur | grep -c -e --blur -e truncate >/dev/null && echo told
timeout 10 climg --help=blurr
