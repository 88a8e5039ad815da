climg "$SAMPLES/scene.png" --scale 4 --compression none | head -c 10 >/dev/null
exit "${PIPESTATUS[0]}"
