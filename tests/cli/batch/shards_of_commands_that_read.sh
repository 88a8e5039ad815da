# --check, --info and --compare share their files by --shard, too: the two parts have every file once.
mkdir a b
for name in one two three four five; do
    cp "$SAMPLES/soft-alpha.png" $name.png
    mv $name.png a
    cp a/$name.png b
done
cp a/one.png b/only.png
for part in 1 2; do
    climg --check a --shard $part/2 >>check
    climg --info a --shard $part/2 | grep PNG >>info
    climg a --compare b --shard $part/2 | grep -v PSNR >>compare
done
sort check
sort info
sort compare
