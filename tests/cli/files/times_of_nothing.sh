# What --timing and --trace write is of this run alone, also where nothing was left to do, or nothing could be done.
work() {
    climg "$SAMPLES/soft-alpha.png" --invert --resume --timing=json:times --trace "$1" out.png
}
for trace in trace.json trace.svg; do
    rm -f out.png
    work $trace
    wc -l <times
    grep -c 'invert' $trace
    work $trace
    wc -c <times
    grep -c 'invert' $trace
done
/usr/bin/python3 -m json.tool trace.json >/dev/null && echo whole
echo old >times
climg none.png --invert --timing=json:times out.png
wc -c <times
echo old >times
climg "$SAMPLES/soft-alpha.png" --invert --device none --timing=json:times other.png
wc -c <times
climg "$SAMPLES/soft-alpha.png" --invert --resume -t out.png
echo old >trace.json
climg "$SAMPLES/soft-alpha.png" --invert --timing=json:no/times --trace trace.json other.png
grep -c 'invert' trace.json
