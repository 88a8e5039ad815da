"""--selftest: what it asks, that it finds kernels with a wrong constant, and what becomes of a device that failed."""

import os
import re
import subprocess

import numpy as np
import pytest

import harness
import make_answers

ANSWERS = harness.ROOT / "src/selftest/answers.txt"
UNIT = 2  # of the last digit: libraries of numbers differ


@pytest.fixture
def memory(tmp_path):
    """The environment in which nothing is remembered from elsewhere; what drivers built stays theirs."""
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "POCL_CACHE_DIR": harness.pocl_cache()}


def selftest(*args, env, status=0):
    """Cold builds on a busy machine take longer than other commands may."""
    done = subprocess.run([harness.CLIMG, "--selftest", *args], capture_output=True, text=True, timeout=600,
                          env={**os.environ, **env})
    assert done.returncode == status, done.stdout + done.stderr
    assert "generated." not in done.stderr, f"PoCL finds no function in kernels/builtins.h: {done.stderr}"
    return done


def kernels_asked(said):
    return set(re.search(r"^  kernels: (.*)$", said, re.M).group(1).split())


def kernels_written():
    written = set()
    for path in (harness.ROOT / "kernels").iterdir():
        text = path.read_text()
        for kernel in re.split(r"^__kernel", text, flags=re.M)[1:]:
            name = re.search(r"void\s+(\w+)\(", kernel).group(1)
            written |= set(re.findall(rf"#define {name} (\w+)", text)) or {name}
    return written


def check_passed(said, memory):
    """Prints every question, and remembers the result for the device."""
    right, asked = re.search(r"(\d+) of (\d+) outputs are right \(largest error [0-9.e-]+\)", said).groups()
    assert right == asked and int(asked) >= len(make_answers.questions()), said
    assert f"\n{right} outputs have the same bits as on other devices\n" in said, "if that was meant: make sums\n" + said
    errors = re.findall(r"^  ([0-9.]+e[-+][0-9]+)  [0-9a-f]{8}  (.*)$", said, re.M)
    gaussian = re.compile("--(blur|sharpen|gradient) ")  # which is cut off, or goes by way of a coarser grid, within 1e-5
    assert len(errors) == len(make_answers.questions()) and all(float(error) < 1e-6 for error, what in errors if not gaussian.match(what)), said
    assert "driver" in said and "buffers" in said, said
    assert "--selftest passed on" in harness.run("--list-devices", env=memory).out.decode()
    assert '"selftest":{"passed":true,' in harness.run("--list-devices=json", env=memory).out.decode()


def test_every_stage_is_asked():
    asked = {question.stage for question in make_answers.questions()}
    assert set(harness.stages()) <= asked, "make_answers.py has no question of these"


def read_answers(path):
    """[(question, answers)]; what has no answer is far from all that have."""
    lines = path.read_text().splitlines()
    return [(question, np.array([2**40 if word == "x" else int(word) for word in answers.split()]))
            for question, answers in zip(lines[::2], lines[1::2], strict=True)]


def test_answers_are_what_numpy_says(tmp_path):
    make_answers.main(tmp_path / "answers.txt")
    new, old = read_answers(tmp_path / "answers.txt"), read_answers(ANSWERS)
    assert [question for question, _ in new] == [question for question, _ in old], "make answers"
    for (question, expected), (_, committed) in zip(new, old):
        assert np.abs(expected - committed).max() <= UNIT, f"make answers ({question})"


# A wrong constant in each of these, and the stages that it shows in; shares of what is asked would not do. What is
# altered where every program has it would have all of them compiled anew.
WRONG = {
    "samples": ("mad(curve.scale, power(", "mad(1.001f * curve.scale, power(", "samples"),
    "mosaic": ("mad(-6.0f, fmin", "mad(-6.01f, fmin", "--mosaic"),
    "noise": ("mean = sum_lanes(sum[p])", "mean = 1.02f * sum_lanes(sum[p])", "--shrink, --denoise"),
    "sharpen": ("mad(epilogue.amount, ", "mad(1.001f * epilogue.amount, ", "--sharpen"),
    "opponent": ("0.40824829046386302f", "0.4083f", "--shrink, --denoise"),
}


def test_constants_are_there():
    """So that the next test alters something, whichever of them it draws."""
    kernels = "".join(path.read_text() for path in (harness.ROOT / "kernels").iterdir())
    assert [name for name, (right, _, _) in WRONG.items() if right not in kernels] == []


ALL = bool(os.environ.get("CLIMG_TEST_ALL"))


@pytest.mark.some(1)
@pytest.mark.parametrize("name", WRONG)
def test_wrong_constant_is_found(tmp_path, rng, memory, altered_kernels, name):
    """The stages that it shows in are asked, and another one, which is right: all of them have a hundred programs compiled anew."""
    right, wrong, stages = WRONG[name]
    shown = [stage.lstrip("-") for stage in stages.split(", ")]
    others = sorted({question.stage for question in make_answers.questions() if question.stage} - set(shown))
    env = {**memory, **altered_kernels, "ALTERED_FROM": right, "ALTERED_TO": wrong}
    if not ALL:
        env["CLIMG_STAGES"] = ",".join([*shown, rng.choice(others)])
    said = selftest(env=env, status=1)
    assert f": wrong answers from {stages}; " in said.stderr, said.stdout + said.stderr
    assert said.stdout.count("WRONG") == len(re.findall("WRONG (?:" + "|".join(stages.split(", ")) + ")", said.stdout))
    check_refused(tmp_path, memory, stages.split(", ")[0])


def test_kernels_pass(rng, memory):
    """Some stages by the kernels of the device's class and of the other class, in each run others."""
    stages = sorted({question.stage or "samples" for question in make_answers.questions()})
    for form in ("cpu", "gpu"):
        asked = rng.choice(stages, 2, replace=False)
        said = selftest("-v", env={**memory, "CLIMG_CLASS": form, "CLIMG_STAGES": ",".join(asked)}).stdout
        right, count = re.search(r"^(\d+) of (\d+) outputs are right", said, re.M).groups()
        assert right == count and int(count) >= len(asked) and "not stored: only some test cases ran" in said, said
        assert f"\n{right} outputs have the same bits" in said, said
        assert set(re.findall(r"^  \S+  \S+  (?:--)?([a-z-]+)", said, re.M)) == set(asked), said
    assert "--selftest (optional) was not run with this driver" in harness.run("--list-devices", env=memory).out.decode()


@pytest.mark.skipif(not ALL, reason="takes minutes: ALL=1")
def test_every_kernel_is_asked_and_right(tmp_path, memory):
    """The device's own, which are used after they had failed, and those of the other class, in some border rule and memory."""
    harness.write_tiff(tmp_path / "in.tif", np.zeros((5, 7, 1), np.uint8))
    said = selftest("-v", env=memory).stdout
    check_passed(said, memory)
    harness.run(tmp_path / "in.tif", "--invert", tmp_path / "out.tif", env=memory)
    other = "cpu" if "kernels for GPUs" in said else "gpu"
    asked = kernels_asked(said) | kernels_asked(selftest("-v", env={**memory, "CLIMG_CLASS": other}).stdout)
    written = {kernel for kernel in kernels_written() if not kernel.startswith("missing_") and kernel != "weighted_quotient"}  # of NaN: test_not_finite.py
    assert written and written <= asked, f"never asked: {sorted(written - asked)}"


def check_refused(tmp_path, memory, stage):
    """Without --force."""
    harness.write_tiff(tmp_path / "in.tif", np.zeros((5, 7, 1), np.uint8))
    refused = harness.run(tmp_path / "in.tif", "--invert", tmp_path / "out.tif", env=memory, status=1).err
    assert "gave wrong answers in --selftest on " in refused and f"({stage} off by" in refused, refused
    assert not (tmp_path / "out.tif").exists()
    harness.run(tmp_path / "in.tif", "--invert", tmp_path / "out.tif", "--force", env=memory)
    assert "--selftest failed on" in harness.run("--list-devices", env=memory).out.decode()


def test_no_answer_is_no_wrong_one(tmp_path, memory, failing_calls):
    """A launch that fails, as where others have taken the memory, is told; the device is used all the same."""
    failing = {**failing_calls("clEnqueueNDRangeKernel", 1), "CLIMG_STAGES": "invert"}
    said = selftest(env={**memory, **failing}, status=1)
    assert re.search(r": 1 of \d+ runs failed: \S", said.stderr) and "FAILED --invert" in said.stdout, said
    harness.write_tiff(tmp_path / "in.tif", np.zeros((5, 7, 1), np.uint8))
    harness.run(tmp_path / "in.tif", "--invert", tmp_path / "out.tif", env=memory)


def fnv(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def remember(cache, header, verdict):
    """Writes the cache entry that --selftest writes (device/cache.h)."""
    header = re.sub("climg [^,]*", "climg selftest-cpu", header)
    text = f"{header}{verdict}\n"
    (cache / "climg" / f"selftest-cpu-{fnv(header):016x}").write_text(f"{text}sum {fnv(text):016x}\n")


def test_other_device_that_failed_verifies_nothing(tmp_path, memory):
    """PoCL shows two devices of other names; the second one is remembered as wrong."""
    env = {**memory, "POCL_DEVICES": "pthread basic", "CLIMG_DEVICE": "pthread"}
    if "basic-" not in harness.run("--list-devices", env=env).out.decode():
        pytest.skip("PoCL has no two devices")
    harness.write_tiff(tmp_path / "in.tif", np.zeros((5, 7, 1), np.uint8))
    words = [tmp_path / "in.tif", "--invert", "-y", tmp_path / "out.tif"]
    harness.run(*words, "--device", "basic", env={**env, "CLIMG_KEEP": "1"})
    kept = next((tmp_path / "cache/climg").glob("program-*"))
    header = kept.read_bytes().split(b"\n")[0].decode() + "\n"
    remember(tmp_path / "cache", header, "failed --blur 0.5 2001-02-03")
    harness.run(*words, env=env)
    refused = harness.run(*words, "--verify=basic", env=env, status=1).err
    assert re.search("climg: .*basic.* gave wrong answers in --selftest on 2001-02-03", refused), refused
    harness.run(*words, "--verify=basic", "--force", env=env)
    remember(tmp_path / "cache", header, "passed - 2.6e-06 2001-02-04")
    harness.run(*words, "--verify=basic", env=env)
    assert "--selftest passed on 2001-02-04, largest error 2.6e-06" in harness.run("--list-devices", env=env).out.decode()
