# Nor is a report begun in place of an older one.
echo older >report
climg --report report "$SAMPLES/scene.png" out.gif
status=$?
cat report
exit $status
