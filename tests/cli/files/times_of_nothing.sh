# --timing and --trace describe this run alone, also if nothing was left to do, or nothing could be done.
work() {
    climg "$SAMPLES/soft-alpha.png" --invert --resume --timing=json:times --trace trace.json out.png
}
work
wc -l <times
grep -c 'invert' trace.json
work
"$PYTHON" -c 'import json; print(json.load(open("times"))["device"])'
grep -c 'invert' trace.json
"$PYTHON" -m json.tool trace.json >/dev/null && echo whole
echo old >times
climg none.png --invert --timing=json:times out.png
"$PYTHON" -c 'import json; print(json.load(open("times"))["device"])'
echo old >times
climg "$SAMPLES/soft-alpha.png" --invert --device none --timing=json:times other.png
"$PYTHON" -c 'import json; print(json.load(open("times"))["device"])'
climg "$SAMPLES/soft-alpha.png" --invert --resume -t out.png
echo old >trace.json
climg "$SAMPLES/soft-alpha.png" --invert --timing=json:no/times --trace trace.json other.png
cat trace.json
# A copied file needs no device, but is timed.
climg "$SAMPLES/photo.jpg" copy.jpg -t 2>&1 | head -1
# What only reads is not timed.
for option in --info --check --compare=out.png; do
    climg $option out.png --trace new.json
    climg $option out.png -t
done
