# script(1) gives climg a terminal as its standard output; what it shows must be nothing.
cp "$SAMPLES/scene.png" scene.png
mkdir photos
script -qec 'timeout 10 climg scene.png --blur 1 2>message; echo $? >status' /dev/null >screen
script -qec 'timeout 10 climg scene.png 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'timeout 10 climg photos/ 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'timeout 10 climg missing.png 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'timeout 10 climg 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'timeout 10 climg -o b.png 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'timeout 10 climg --info 2>>message; echo $? >>status' /dev/null >>screen
wc -c <screen
cat message >&2
cat status
