OCL_ICD_VENDORS=/nowhere/ timeout 1 climg "$SAMPLES/scene.png" --blur 1 out.png
