# All missing folders of a named output folder are made, and none of them is left by a run that fails.
mkdir in kept
cp "$SAMPLES/scene.png" in/a.png
echo broken >in/b.png
climg -j 1 in/a.png --invert n1/n2//n3/
echo $?
climg -j 1 in/a.png in/b.png --invert "$PWD/m1/m2"
echo $?
climg -j 1 in/b.png --invert kept/f1/f2/
echo $?
climg -j 1 in/b.png none.png --invert kept/./f2/f3
echo $?
climg -j 1 in/a.png --invert in/a.png/sub/
echo $?
find . -mindepth 1 | sort
