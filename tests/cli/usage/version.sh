timeout 1 climg --version
