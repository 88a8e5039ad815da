# The test runner itself: nothing runs, as one of the names is wrong.
for names in "usage/jobs_zero nonsuch" usage/nonsuch --nonsuch ""; do
    CLIMG=$(command -v climg) "$CASES/run" ${names:-""}
    echo "exit $?"
done
