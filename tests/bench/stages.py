#!/usr/bin/python3
"""Every stage of climg on a device: time of its kernels, GB/s, and the fraction of the rate of a copy in the same run.

    stages.py [--sizes N,...] [--forms preset,other] [--json FILE] [--svg FILE] [--markdown FILE]

build/bench/stages measures (median event times on four float planes of noise, within one process); this runs it for each
form of the kernels and shows what comes out. Forms: preset are those for the device;
other the kernels for the other class of device (a GPU's on a CPU), buffers of one size only. A stage's own line
counts the bytes that go in and come out: 1.00 of the copy's rate is as fast as copying its input to its output.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

from stages_chart import chart

PROGRAM = str(pathlib.Path(os.environ.get("CLIMG", pathlib.Path(__file__).resolve().parents[2] / "build" / "climg")).parent
              / "bench" / "stages")
OTHER_SIZE = 2048


def run(arguments, **environment):
    """(what is known of the device, figures)."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], env={**os.environ, **environment}, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"{PROGRAM} failed")
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return lines[0], lines[1:]


def measure(options):
    device, figures = None, []
    for form in options.forms:
        if form == "other":
            other = "gpu" if device and device["class"] == "cpu" else "cpu"
            sizes = [512, OTHER_SIZE] if OTHER_SIZE in options.sizes else options.sizes[:1]
            found = run(["buffer", *sizes], CLIMG_CLASS=other)
            name = other
        else:
            found = run(options.sizes)
            name = form
        device = device or found[0]
        # the wavelet before a mosaic is the same as the other one
        figures += [{"form": name, **row} for row in found[1] if "mosaic" in row.get("stage", "mosaic") or "mosaic" not in row["chain"]]
    return device, figures


def title(row):
    return "--" + row["chain"].removeprefix("--").split(" --")[row["step"]]


def show(device, figures):
    print(f"{device['device']}, driver {device['driver']}: {device['channels']} float planes, medians of event times")
    key = None
    for row in figures:
        if key != (row["form"], row["memory"], row["chain"], row["size"]):
            key = (row["form"], row["memory"], row["chain"], row["size"])
            print(f"\n{row['chain']}, {row['size']}x{row['size']}, {row['memory']}, {row['form']}")
        if "skipped" in row:
            print(f"  SKIPPED: {row['skipped']}")
            continue
        name = f"{row['stage']}: all" if not row["kernel"] else "  " + row["kernel"]
        print(f"  {name:<26}{row['launches']:>4} x{1e6 * row['seconds']:>13.1f} us{row['gb_per_second']:>9.1f} GB/s"
              f"{row['of_copy']:>8.3f} of copy ({row['copy_gb_per_second']:.1f} GB/s)")


def markdown(device, figures):
    """One line a stage, memory and form; per size the time and the fraction of the copy's rate."""
    sizes = sorted({row["size"] for row in figures})
    rows = {}
    for row in figures:
        if row.get("kernel", "") == "" and "skipped" not in row:
            rows.setdefault((title(row), row["memory"], row["form"]), {})[row["size"]] = row
    text = [f"### Stages: {device['device']}", "",
            f"{device['channels']} float planes, µs (fraction of the rate of a copy from the stage's input to its output):", "",
            "| stage | memory | form | " + " | ".join(f"{n}²" for n in sizes) + " |", "| --- " * (3 + len(sizes)) + "|"]
    for key, cells in rows.items():
        shown = [f"{1e6 * cells[n]['seconds']:.{0 if cells[n]['seconds'] > 1e-4 else 1}f} ({cells[n]['of_copy']:.2g})"
                 if n in cells else "" for n in sizes]
        text.append("| " + " | ".join([f"`{key[0]}`", *key[1:], *shown]) + " |")
    return "\n".join(text) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=lambda text: sorted(map(int, text.split(","))), default=[512, 2048, 4096])
    parser.add_argument("--forms", type=lambda text: text.split(","), default=["preset", "other"])
    parser.add_argument("--json")
    parser.add_argument("--svg")
    parser.add_argument("--markdown")
    options = parser.parse_args()
    device, figures = measure(options)
    show(device, figures)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({**device, "figures": figures}, indent=1) + "\n")
    if options.svg:
        stages = [{**row, "title": title(row)} for row in figures if row.get("kernel") == ""]
        pathlib.Path(options.svg).write_text(chart(device["device"], stages))
    if options.markdown:
        pathlib.Path(options.markdown).write_text(markdown(device, figures))


if __name__ == "__main__":
    main()
