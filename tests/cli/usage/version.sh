timeout 10 climg --version
