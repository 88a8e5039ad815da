climg --version
