climg --help=blur | grep -c -e --blur -e truncate >/dev/null && echo told
climg --help=blurr
