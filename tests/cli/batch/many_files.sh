# Preparations must not take quadratic time in the number of files. The order is that of bytes.
mkdir in
(cd in && seq -f '%06.0f.png' 1 60000 | xargs touch)
climg -n in --blur 1 out >told
seq -f '%06.0f' 1 60000 | sed 's|.*|in/&.png -> out/&.png|' | cmp told - && echo same
rm -r in told
