#!/usr/bin/python3
"""Runs tests with a climg built for gcov and says which lines and branches of src/ they reach.

    CLIMG=build/coverage/climg tests/coverage/measure.py build/obj-coverage [--torture TRIES] [--missed FILE] [PART ...]

Parts are "cli", "torture", folders and files of tests; without any all that `make check` runs. The unit tests and the
fuzzers' corpus were run by then. Counts add up: what earlier calls ran still counts.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ["cli", "tests/reference", "tests/cluster", "torture"]


def measure(objects):
    """Returns, for each file of src/ and line, the number of runs and its branches' counts."""
    files = {}
    data = [path for path in sorted(pathlib.Path(objects).rglob("*.gcda")) if not {"unit", "replay"} & set(path.parts)]
    run = subprocess.run(["gcov", "--json-format", "--branch-probabilities", "--stdout", *data], capture_output=True, check=True)
    for report in run.stdout.splitlines():
        for source in json.loads(report)["files"]:
            if source["file"].startswith("src/"):
                lines = files.setdefault(source["file"], {})
                for line in source["lines"]:
                    before = lines.setdefault(line["line_number"], [0, [0] * len(line["branches"])])
                    before[0] += line["count"]
                    counts = [branch["count"] for branch in line["branches"]]
                    before[1] = [a + b for a, b in zip(before[1], counts)] if len(counts) == len(before[1]) else before[1]
    return files


def keep_larger(files, others):
    """A process that is killed while it writes its counts spoils those of all before it."""
    for name, lines in others.items():
        known = files.setdefault(name, {})
        for number, line in lines.items():
            before = known.setdefault(number, line)
            known[number] = [max(before[0], line[0]), [max(pair) for pair in zip(before[1], line[1])]]


def run_part(part, tries):
    if part == "cli":
        command = ["tests/cli/run"]
    elif part == "torture":
        command = ["tests/torture/torture.py", "--tries", str(tries)]
    else:
        command = [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count()), part]
    subprocess.run(command, cwd=ROOT, check=False)


def totals(lines):
    branches = [count for _, counts in lines.values() for count in counts]
    return sum(count > 0 for count, _ in lines.values()), len(lines), sum(count > 0 for count in branches), len(branches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects")
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--torture", type=int, default=3000, help="number of tries")
    parser.add_argument("--missed", help="the lines and branches that were never run go there")
    options = parser.parse_args()
    files = measure(options.objects)
    for part in options.parts or PARTS:
        run_part(part, options.torture)
        keep_larger(files, measure(options.objects))
    for name in sorted(files, key=lambda name: totals(files[name])[0] / totals(files[name])[1]):
        run, lines, taken, branches = totals(files[name])
        print(f"{100 * run / lines:5.1f}% of {lines:4} lines, {100 * taken / max(branches, 1):5.1f}% of {branches:4} branches  {name}")
    run, lines, taken, branches = (sum(column) for column in zip(*map(totals, files.values())))
    print(f"{100 * run / lines:.1f}% of {lines} lines, {100 * taken / branches:.1f}% of {branches} branches")
    if options.missed:
        pathlib.Path(options.missed).write_text("".join(
            f"{name}:{number}: {f'{sum(not taken for taken in branches)} of {len(branches)} branches' if count else 'line'}\n"
            for name in sorted(files) for number, (count, branches) in sorted(files[name].items())
            if not count or not all(branches)))


if __name__ == "__main__":
    main()
