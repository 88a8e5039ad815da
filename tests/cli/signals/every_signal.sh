# Each signal that ends climg ends it at once, the first one as well, and leaves nothing. Kernels are compiled
# here: LLVM then has handlers of its own. The report has a line when a file is counted.
export POCL_CACHE_DIR=$PWD/cache
mkdir cache
for signal in INT TERM HUP QUIT XCPU ABRT; do
    mkfifo in.png
    (ulimit -c 0; trap - INT; exec climg "$SAMPLES/zoneplate.png" in.png --invert --report report out) &
    climg=$!
    exec 3<>in.png
    wait_for test -s report
    kill -$signal $climg
    wait $climg 2>/dev/null
    echo "$signal $?, $(ls -A out | tr '\n' ' ')"
    exec 3>&-
    rm -r out in.png report
done
rm -r cache
