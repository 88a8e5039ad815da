# An option that a command would ignore is an error: the file of --report would never exist.
cp "$SAMPLES/soft-alpha.png" in.png
for option in --info --compare=in.png; do
    climg $option in.png --report report.json
    climg $option in.png --in-place
    climg $option in.png --resume
done
climg --check in.png --dry-run
climg --check in.png --report report.json
climg --check in.png --memory-limit 1G
climg in.png --invert out.png --selftest
climg --warm in.png
climg --list-devices --invert
climg --selftest --warm
climg --info -0 in.png
climg --selftest --output x.png
climg --selftest --files-from list
climg --list-devices --in-place
climg --warm --device 0,1
climg --selftest --device all
climg --info --measure --device 0,1 in.png
climg --compare in.png in.png --compression best
climg in.png --invert --resume -f png >out.png
climg - --invert --resume out.png <in.png
