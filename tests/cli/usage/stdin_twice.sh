for run in "--info - -" "--info=json - $SAMPLES/scene.png -" "--files-from - --info -" "--files-from - --info"; do
    echo - | climg $run
    echo "exit $?"
done
echo "$SAMPLES/scene.png" | climg --info --files-from - -
climg --info - <"$SAMPLES/scene.png" | head -n 1
