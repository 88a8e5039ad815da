#!/usr/bin/python3
"""Measures the figures of the README: three tasks, whole commands, against the other programs that are installed.

    tests/bench/front.py --json docs/speed.json --svg docs/speed.svg   # on two processors of an idle machine
    tests/bench/front.py --from docs/speed.json --svg docs/speed.svg   # draws the chart again, measures nothing
    CLIMG_DEVICE=gpu tests/bench/front.py --cores 0                    # on the GPU and all processors

Prints a table in Markdown: medians of wall-clock seconds, and processor seconds in brackets. All programs run in turns, after one
run each that compiles climg's kernels and reads the input into memory. Denoised pictures also have their PSNR against the
picture without noise. Debian's vips runs as a command; pyvips (pip install
pyvips-binary) runs in Python, whose start is not counted.
"""
import argparse
import html
import importlib.util
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIMG = os.environ.get("CLIMG", str(ROOT / "build" / "climg"))

# Title, file, width, height, bits, and the words of each program. A program that is missing in a row has no such operation.
TASKS = [
    {"title": "Gaussian blur, sigma 30", "words": "--blur 30", "input": "20 MP JPEG", "file": "blur.jpg", "size": (5472, 3648),
     "climg": "IN --blur 30 OUT", "vips": "gaussblur IN OUT 30", "pyvips": "gaussblur(30)", "ImageMagick": "IN -blur 0x30 OUT",
     "G'MIC": "IN blur 30 cut 0,255 -o OUT"},
    {"title": "Median of 5×5", "words": "--median 2", "input": "7 MP TIFF of 16 bits", "file": "median.tif", "size": (3072, 2304),
     "climg": "IN --median 2 OUT", "vips": "rank IN OUT 5 5 12", "pyvips": "rank(5, 5, 12)", "ImageMagick": "IN -statistic Median 5x5 OUT",
     "G'MIC": "IN median 5 -o OUT,ushort"},
    # The strengths that gave G'MIC and ImageMagick the highest PSNR of those that were tried.
    {"title": "Removing noise", "words": "--denoise", "input": "5 MP JPEG to PPM", "file": "noise.jpg", "output": ".ppm", "size": (2592, 1944),
     "climg": "IN --denoise OUT", "climg, high": "IN --denoise=quality=high OUT", "ImageMagick": "IN -wavelet-denoise 2% OUT", "G'MIC": "IN smooth 80 cut 0,255 -o OUT"},
]
PYVIPS = ("import sys, time, pyvips; start = time.perf_counter(); "
          "pyvips.Image.new_from_file(sys.argv[1], access='sequential').{}.write_to_file(sys.argv[2]); print(time.perf_counter() - start)")


def version(*command):
    """The first number in what a program prints, to its minor part; None if it cannot be run."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True)
    found = re.search(r"\d+\.\d+", done.stdout + done.stderr)
    return found and found[0]


def programs():
    """{key of TASKS: (name with version, the command without its words)}"""
    found = {"climg": ("climg", [CLIMG]), "climg, high": ("climg, high", [CLIMG])}
    if version("vips", "--version"):
        found["vips"] = (f"vips {version('vips', '--version')}", ["vips"])
    if importlib.util.find_spec("pyvips"):
        import pyvips
        found["pyvips"] = (f"vips {pyvips.version(0)}.{pyvips.version(1)}", [sys.executable, "-c"])
    for name in ("magick", "convert-im6.q16", "convert"):
        if "ImageMagick" not in found and version(name, "-version"):
            found["ImageMagick"] = (f"ImageMagick {version(name, '-version')}", [name])
    if version("gmic", "version"):
        found["G'MIC"] = (f"G'MIC {version('gmic', 'version')}", ["gmic"])
    return found


def make_input(task, folder):
    """samples/night.jpg, repeated in mirror images until the picture has the size of the task."""
    import numpy as np
    import tifffile
    from PIL import Image
    night = np.asarray(Image.open(ROOT / "samples" / "night.jpg"))
    width, height = task["size"]
    pair = np.concatenate([night, night[:, ::-1]], axis=1)
    four = np.concatenate([pair, pair[::-1]])
    pixels = np.tile(four, (height // four.shape[0] + 1, width // four.shape[1] + 1, 1))[:height, :width]
    path = folder / task["file"]
    if path.suffix == ".tif":
        tifffile.imwrite(path, pixels.astype(np.uint16) * 257, photometric="rgb")
    else:
        Image.fromarray(pixels).save(path, quality=92)
    return path


def run_once(key, begin, words, source, target):
    """Wall-clock and processor seconds of one command."""
    names = {"IN": str(source), "OUT": str(target)}
    if key == "pyvips":
        command = [*begin, PYVIPS.format(words), str(source), str(target)]
    else:
        command = [*begin, *(re.sub("^(IN|OUT)", lambda found: names[found[0]], word) for word in words.split())]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return float(done.stdout) if key == "pyvips" else wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(task, found, runs, folder):
    """{name of a program: (wall-clock seconds, processor seconds)}, medians."""
    source, seconds = make_input(task, folder), {}
    for turn in range(runs + 1):  # the first one warms up
        for key, (name, begin) in found.items():
            if key in task:
                taken = run_once(key, begin, task[key], source, folder / f"out-{key}{task.get('output', source.suffix)}")
                seconds.setdefault(name, []).extend([taken] if turn > 0 else [])
    return {name: tuple(round(statistics.median(column), 3) for column in zip(*taken)) for name, taken in seconds.items()}


def quality(found, folder):
    """{name of a program: PSNR in dB} of denoised pictures against night.jpg as the simulated camera takes it without noise."""
    sys.path.insert(0, str(ROOT / "samples"))
    import make_samples
    import numpy as np
    import scenes
    from PIL import Image
    scene = scenes.as_display(scenes.harbour(), make_samples.NIGHT_EXPOSURE)
    clean = 255 * make_samples.with_camera(scene, 1e-6, 1e-7).clip(0, 1)
    decibels = {}
    for key, (name, _) in found.items():
        path = folder / f"out-{key}.ppm"
        if key in TASKS[-1]:
            made = np.asarray(Image.open(path).convert("RGB"), float)[:clean.shape[0], :clean.shape[1]]
            decibels[name] = round(10 * np.log10(255 ** 2 / np.mean((made - clean) ** 2)), 1)
    return decibels


def table(rows):
    names = list(dict.fromkeys(name for row in rows for name in row["seconds"]))
    lines = ["| s (processor s) | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for row in rows:
        cells = ["{:.2f} ({:.2f})".format(*row["seconds"][name]) if name in row["seconds"] else "" for name in names]
        if "decibels" in row:
            cells = [f"{cell}, {row['decibels'][name]} dB" if cell else "" for cell, name in zip(cells, names)]
        lines.append(f"| `{row['words']}`, {row['input']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def chart(rows, note):
    """Bars of wall-clock seconds, one group for each task; the longest bar of a group spans the width."""
    width, left, bar, line = 760, 130, 15, 20
    y, parts = 8, []
    for row in rows:
        y += 16
        parts.append(f'<text x="8" y="{y}" class="title">{html.escape(row["title"])}<tspan class="quiet" dx="8">{html.escape(row["input"])}</tspan></text>')
        y += 8
        longest = max(seconds[0] for seconds in row["seconds"].values())
        for name, (wall, *_) in sorted(row["seconds"].items(), key=lambda item: item[1][0]):
            own = ' class="own"' if name.startswith("climg") else ""
            length = max(2, (width - left - 120) * wall / longest)
            remark = f", {row['decibels'][name]} dB" if "decibels" in row else ""
            parts.append(f'<text x="{left - 8}" y="{y + 12}" text-anchor="end"{own}>{html.escape(name)}</text>'
                         f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{bar}"{own}/>'
                         f'<text x="{left + length + 6:.1f}" y="{y + 12}"{own}>{wall:.2g} s{remark}</text>')
            y += line
        y += 6
    parts.append(f'<text x="8" y="{y + 12}" class="quiet">{html.escape(note)}</text>')
    style = ("text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #333d45 } rect { fill: #b4bec6 } .title { font-weight: 600 } "
             ".quiet { fill: #5b6770; font-weight: 400 } text.own { font-weight: 600; fill: #0b5fa5 } rect.own { fill: #0b5fa5 }")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 22}" width="{width}" height="{y + 22}" role="img">\n'
            f'<style>{style}</style>\n<rect width="{width}" height="{y + 22}" style="fill: #ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--cores", type=int, default=2, help="processors that all programs share; 0: all")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    parser.add_argument("--from", dest="figures", type=pathlib.Path, help="figures of an earlier run")
    options = parser.parse_args()
    if options.figures:
        figures = json.loads(options.figures.read_text())
    else:
        if options.cores:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:options.cores])
        model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
        note = f"{len(os.sched_getaffinity(0))} cores, {model[1] if model else 'unknown processor'}; medians of {options.runs}, kernels compiled"
        figures = {"note": note, "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d"), "rows": []}
        with tempfile.TemporaryDirectory() as folder:
            for task in TASKS:
                seconds = measure(task, programs(), options.runs, pathlib.Path(folder))
                figures["rows"].append({key: task[key] for key in ("title", "words", "input")} | {"seconds": seconds})
            figures["rows"][-1]["decibels"] = quality(programs(), pathlib.Path(folder))
        print(f"{figures['date']}, load {figures['load']:.1f}; {note}\n\n{table(figures['rows'])}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    if options.svg:
        options.svg.write_text(chart(figures["rows"], figures["note"]))


if __name__ == "__main__":
    sys.exit(main())
