# No driver, one whose library is missing, one that is no library, and no descriptor left for any.
mkdir empty missing damaged
OCL_ICD_VENDORS=$PWD/empty climg "$SAMPLES/scene.png" --blur 1 out.png
echo "libOpenCL-missing.so" >missing/driver.icd
OCL_ICD_VENDORS=$PWD/missing/ climg "$SAMPLES/scene.png" --blur 1 out.png
echo "This is no library, but a text of more than sixty-four bytes, as ELF wants it." >damaged.so
echo "$PWD/damaged.so" >damaged/driver.icd
OCL_ICD_VENDORS=$PWD/damaged/ climg "$SAMPLES/scene.png" --blur 1 out.png
(ulimit -n 6; climg "$SAMPLES/scene.png" --blur 1 out.png)
(ulimit -n 5; climg "$SAMPLES/scene.png" --blur 1 out.png)
