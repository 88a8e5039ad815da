# What people type who come from other programs, and what helps them.
for words in "--negate" "--resize 2" "--threads 4" "-denoise" "-format png" "--overwrite" "--unsharp-mask 1" "--usage"; do
    climg a.png $words b.png
done
climg --help=resize
climg --help --invert | head -n 1
climg --help blur | head -n 1
climg --help=-o
climg -V | head -n 1
