# Each signal that ends climg ends it at once, the first one as well, and leaves nothing. Kernels are compiled
# here: LLVM then has handlers of its own.
export POCL_CACHE_DIR=$PWD/cache
mkdir cache
for signal in INT TERM HUP QUIT XCPU ABRT; do
    mkfifo in.png
    (ulimit -c 0; trap - INT; exec climg "$SAMPLES/zoneplate.png" in.png --invert out) &
    climg=$!
    exec 3<>in.png
    for ((i = 0; i < 2000; i++)); do
        [[ -e out/zoneplate.png ]] && break
        sleep 0.01
    done
    kill -$signal $climg
    began=$SECONDS
    wait $climg 2>/dev/null
    echo "$signal $? after $((SECONDS - began > 5)) hangs, $(ls -A out | tr '\n' ' ')"
    exec 3>&-
    rm -r out in.png
done
rm -r cache
