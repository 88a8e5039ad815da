# Folders that a run creates and writes nothing to are removed again; those that were there stay.
mkdir -p in/good in/bad/deep kept/bad
climg "$SAMPLES/soft-alpha.png" in/good/a.png
echo nothing >in/bad/b.png
cp in/bad/b.png in/bad/deep/c.png
climg -r -j 1 in --blur 1 new
echo $?
find new -mindepth 1 | sort
climg -j 1 in/bad/b.png none.png --blur 1 out/
echo $?
climg -r -j 1 in/bad --blur 1 out
echo $?
climg '*.PNG' --blur 1 out/
echo $?
climg in/good --blur 1 --report none/report out
echo $?
climg -r -j 1 in/bad in/good/a.png --blur 1 kept
echo $?
find kept -mindepth 1 | sort
# Another shard may be about to write there.
climg -r in/bad --shard 1/2 --blur 1 shards
echo $?
