"""Comments name files that there are: in src and kernels, every word that looks like a source file is one."""

import re

import harness

FOREIGN = {"zconf.h"}


def test_mentioned_files_exist():
    files = [path for folder in ("src", "kernels", "tests", "docs") for path in (harness.ROOT / folder).rglob("*.*")]
    names = {path.name for path in files} | FOREIGN
    for path in files:
        if path.suffix not in (".c", ".h", ".cl") or path.is_relative_to(harness.ROOT / "tests"):
            continue
        text = re.sub(r"#include.*", "", path.read_text())
        for word in re.findall(r"(?<![%\w/.-])[a-z][a-z0-9_/]*\.(?:c|h|cl|py)\b", text):
            there = [path.parent / word, harness.ROOT / word, harness.ROOT / "src" / word]
            known = any(place.exists() for place in there) if "/" in word else word in names
            assert known, f"{path.relative_to(harness.ROOT)} names {word}"
