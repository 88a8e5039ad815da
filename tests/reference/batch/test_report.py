"""--report: a line of JSON for each file, true to what happened."""

import json
import os

import numpy as np

import harness
import pngfile


def lines(path):
    text = path.read_text()
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_report(tmp_path, rng):
    (tmp_path / "in").mkdir()
    pngfile.write_png(tmp_path / "in" / "a.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    harness.write_tiff(tmp_path / "in" / "b.tif", rng.integers(0, 256, (70, 80, 2), dtype=np.uint16))
    (tmp_path / "in" / "c.png").write_bytes(b"broken")
    harness.write_tiff(tmp_path / "in" / "d.tif", np.full((9, 12, 1), 3, np.float32))
    os.symlink("b.tif", os.fsencode(tmp_path / "in") + b"/\xe4 \"\n.tif")  # not UTF-8, and to be escaped
    report = tmp_path / "report.jsonl"
    harness.run("-j", 1, "--report", report, "in", "--scale", "2", "--depth", "8", "out", cwd=tmp_path, status=3)
    a, b, c, d, odd = lines(report)
    assert [line["input"] for line in (a, b, c, d, odd)] == ["in/a.png", "in/b.tif", "in/c.png", "in/d.tif", "in/ä \"\n.tif"]
    assert a["warnings"] == b["warnings"] == c["warnings"] == []
    assert [warning[:43] for warning in d["warnings"]] == ["432 of 432 values (100%) are outside the ra"]
    assert (a["output"], a["status"], a["error"]) == ("out/a.png", "done", None)
    assert a["from"] == {"width": 12, "height": 9, "channels": 3}
    assert b["from"] == {"width": 80, "height": 70, "channels": 2}
    assert b["to"] == {"width": 160, "height": 140, "channels": 2}
    for line in (a, b):
        assert line["bytes_in"] == (tmp_path / line["input"]).stat().st_size
        assert line["bytes_out"] == (tmp_path / line["output"]).stat().st_size
        total = line["seconds"].pop("total")
        assert 0 < total < 60 and min(line["seconds"].values()) >= 0
        assert max(line["seconds"].values()) <= total + 1e-4, "no part is busier than the whole"
        assert line["seconds"]["decode"] > 0 and line["seconds"]["encode"] > 0
        assert line["device"]
    assert a["seconds"]["start_up"] > 0 and b["seconds"]["start_up"] == 0
    assert (c["status"], c["error"]) == ("failed", "in/c.png: is not JPEG, PAM, PBM, PFM, PGM, PNM, PPM, PNG, TIFF, WebP or Y4M")
    assert odd["status"] == "done"


def test_resume_goes_on_with_the_report(tmp_path, rng):
    """A line that a kill cut off stays a separate line."""
    for name in ("a.png", "b.png"):
        pngfile.write_png(tmp_path / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    report = tmp_path / "report.jsonl"
    harness.run("--report", report, "a.png", "--blur", "1", "out.png", cwd=tmp_path)
    assert [line["output"] for line in lines(report)] == ["out.png"]
    report.write_bytes(b'{"input":"a')
    harness.run("--resume", "--report", report, "a.png", "b.png", "out", cwd=tmp_path)
    harness.run("--resume", "--report", report, "a.png", "b.png", "out", cwd=tmp_path)
    first, *rest = report.read_text().splitlines()
    assert first == '{"input":"a'
    assert [json.loads(line)["status"] for line in rest] == ["done", "done", "skipped", "skipped"]
    harness.run("--report", report, "a.png", "b.png", "out", cwd=tmp_path)
    assert [line["status"] for line in lines(report)] == ["done", "done"]


def test_failures_say_what_to_change(tmp_path, rng):
    """The reason, the stage, and lines for files that were not tried."""
    (tmp_path / "in").mkdir()
    for name in ("a.png", "b.png", "c.png"):
        pngfile.write_png(tmp_path / "in" / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    pngfile.write_png(tmp_path / "in" / "d.png", rng.integers(0, 256, (90, 120, 3), dtype=np.uint8))
    report = tmp_path / "report.jsonl"
    harness.run("--report", report, "in", "--crop", "100x50", "out", cwd=tmp_path, status=3)
    for line in lines(report):
        bad = line["input"] != "in/d.png"
        assert [line[key] for key in ("status", "exit", "reason", "stage")] == (["failed", 1, "file", "crop"] if bad else ["done", 0, None, None])
    harness.run("-j", 1, "-d", "nothing", "--report", report, "in", "--blur", "1", "out", cwd=tmp_path, status=1)
    failed, *rest = lines(report)
    assert (failed["status"], failed["exit"], failed["reason"]) == ("failed", 1, "machine")
    assert [(line["input"], line["status"], line["exit"], line["reason"]) for line in rest] == [
        (f"in/{name}.png", "not tried", None, "machine") for name in "bcd"]
    assert all(line["error"] == failed["error"] and set(line) == set(failed) for line in rest)


def test_dry_run_in_json(tmp_path, rng):
    for name in ("a.png", "b.png"):
        pngfile.write_png(tmp_path / name, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    harness.run("--resume", "a.png", "--invert", "out/", cwd=tmp_path)
    done = harness.run("--dry-run=json", "--resume", "a.png", "b.png", "c.png", "--invert", "out", cwd=tmp_path, status=3)
    planned = [json.loads(line) for line in done.out.splitlines()]
    assert [(line["input"], line["output"], line["status"], line["reason"]) for line in planned] == [
        ("a.png", "out/a.png", "skipped", None), ("b.png", "out/b.png", "planned", None), ("c.png", "out/c.png", "failed", "file")]
    assert all(line["exit"] is None and line["seconds"] is None for line in planned)
    assert not (tmp_path / "out" / "b.png").exists()
    done = harness.run("--dry-run=json", "a.png", "b.png", "--stack", "mean", "mean.png", cwd=tmp_path)
    stacked = [json.loads(line) for line in done.out.splitlines()]
    assert [line["input"] for line in stacked] == ["a.png", "b.png", None]
    assert all(line["output"] == "mean.png" and line["status"] == "planned" for line in stacked)


def test_reports_to_redirected_streams_keep_what_is_there(tmp_path, rng):
    pngfile.write_png(tmp_path / "a.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    log = tmp_path / "log"
    for option, redirection in [("--report /dev/stderr", "2>>"), ("--report /dev/stdout", ">>"), ("--trace /dev/stdout", ">>"),
                                ("--timing=json:/dev/fd/2", "2>>"), ("--report /dev/fd/3", "3>>"), ("--timing=json:/proc/self/fd/3", "3>>")]:
        log.write_text("before\n")
        harness.run_shell(f"climg a.png --invert {option} out.png {redirection} log", cwd=tmp_path)
        text = log.read_text()
        assert text.startswith("before\n") and "{" in text, option
    harness.run_shell("climg --check --report /dev/stdout a.png > log", cwd=tmp_path)
    assert json.loads(log.read_text())["status"] == "whole", "a report on standard output comes without the text"


def test_stack_that_ends_early(tmp_path, rng):
    """Its result has a line, whether an input, a device or nothing ends the work before the merge."""
    for name in ("a.png", "c.png"):
        pngfile.write_png(tmp_path / name, rng.integers(0, 256, (9, 12, 1), dtype=np.uint8))
    (tmp_path / "b.png").write_bytes(b"broken")
    command = ["-j", 1, "--report", "report.jsonl", "a.png", "b.png", "c.png", "out.png", "--stack"]
    for stack, device, states in [("mean,strict=yes", "0", ["done", "failed", "not tried", "not tried"]),
                                  ("mean", "0,99", ["not tried"] * 4), ("mean", "0", ["done", "failed", "done", "done"])]:
        harness.run(*command, stack, "--device", device, cwd=tmp_path, status=0 if states[-1] == "done" else 1)
        made = lines(tmp_path / "report.jsonl")
        assert [line["status"] for line in made] == states
        assert [line["input"] for line in made] == ["a.png", "b.png", "c.png", None]
        assert (made[-1]["error"] is None) == (states[-1] == "done")
