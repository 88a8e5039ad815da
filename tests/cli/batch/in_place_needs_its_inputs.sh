# With --in-place every name is an input. A name that is none was meant as the output: nothing is touched then.
mkdir -p tree/below empty done
climg "$SAMPLES/soft-alpha.png" tree/a.png
cp tree/a.png tree/below/b.png
cp tree/a.png done/c.png
cp -r tree before
for command in "-r tree web" "-r tree web/" "-r web tree" "-r tree empty" "-r tree done/" "tree/a.png web.png" "web.png" \
    "--files-from names" "-r tree --files-from names" "-r tree --files-from names done/"; do
    printf 'tree/a.png\nnone.png\n' >names
    climg $command --resize 10x --in-place
    echo $?
done
climg -n -r tree web --resize 10x --in-place
echo $?
diff -r tree before && cmp tree/a.png done/c.png
# The user said that it is an input, or named it alone.
climg -r tree done/ --resize 10x --in-place --yes && climg done/ --resize 5x --in-place && climg -r done/ tree --resize 5x --in-place
cmp tree/a.png tree/below/b.png && cmp tree/a.png done/c.png
