# script(1) gives climg a terminal as its standard output; what it shows must be nothing.
cp "$SAMPLES/scene.png" scene.png
mkdir photos
script -qec 'climg scene.png --blur 1 2>message; echo $? >status' /dev/null >screen
script -qec 'climg scene.png 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'climg photos/ 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'climg missing.png 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'climg 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'climg -o b.png 2>>message; echo $? >>status' /dev/null >>screen
script -qec 'climg --info 2>>message; echo $? >>status' /dev/null >>screen
wc -c <screen
cat message >&2
cat status
