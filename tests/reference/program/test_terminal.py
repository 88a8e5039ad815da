"""The progress line on a terminal, which is removed at the end."""

import os
import pty
import re
import subprocess
import threading

import pytest

import harness

LINE = "climg: preparing kernels for this device, once"
ERASE = "\r\x1b[K"


def on_terminal(*args, env, steps=()):
    """The exit status, and what a run writes to a stderr that is a terminal. Steps are texts, and what to call when each is seen."""
    steps = list(steps)
    reader, terminal = pty.openpty()
    process = subprocess.Popen([harness.CLIMG, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=terminal,
                               env={**os.environ, **env})
    os.close(terminal)
    written = b""
    while True:
        try:
            written += os.read(reader, 4096)
        except OSError:  # nobody has the terminal any more
            break
        while steps and steps[0][0].encode() in written:
            steps.pop(0)[1]()
    os.close(reader)
    return process.wait(timeout=120), written.decode().replace("\r\n", "\n")


def shown(text):
    """The text of the screen at the end: what comes after ERASE is in place of its line."""
    return "\n".join(line.rpartition(ERASE)[2] for line in text.split("\n"))


@pytest.fixture
def blur(tmp_path):
    return [harness.SAMPLES / "photo.jpg", "--blur", "2", tmp_path / "out.png"]


@pytest.fixture
def ready(tmp_path):
    """The compiler may begin when it is there."""
    return tmp_path / "ready"


def test_compiling_is_told_and_goes_away(blur, slow_compiler, ready):
    status, text = on_terminal(*blur, env=slow_compiler, steps=[(LINE, ready.touch)])
    assert status == 0 and shown(text) == ""
    assert text.count(LINE) == 1, text
    assert text.endswith(ERASE)


def test_a_short_wait_is_not_told(blur, slow_compiler, ready):
    """The program was built before, so that the driver itself takes little."""
    ready.touch()
    on_terminal(*blur, env=slow_compiler)
    assert on_terminal(*blur, env=slow_compiler) == (0, "")


@pytest.mark.parametrize("option", ["--quiet", "--verbose", "--progress=never"])
def test_unwanted(blur, slow_compiler, ready, option):
    threading.Timer(1, ready.touch).start()
    status, text = on_terminal(option, *blur, env=slow_compiler)
    assert status == 0 and "preparing" not in text


def test_without_a_terminal(blur, slow_compiler, ready):
    threading.Timer(1, ready.touch).start()
    assert harness.run(*blur, env=slow_compiler).err == ""


def test_a_failure_stands_alone(tmp_path, slow_compiler, ready):
    """A file fails while programs for the others are built: its message comes in place of the line, not behind it."""
    late = tmp_path / "late.png"
    os.mkfifo(late)
    status, text = on_terminal("-j", 2, harness.SAMPLES / "noisy.png", late, "--blur", 2, tmp_path / "out", env=slow_compiler,
                               steps=[(LINE, lambda: late.write_text("no picture")), ("late.png", ready.touch)])
    assert status == 3 and LINE in text.split("late.png")[0]
    lines = shown(text).splitlines()
    assert len(lines) == 3 and lines[0].startswith(f"climg: {late}: "), lines
    assert re.match(r"climg: 2 files, 1 failed, in \d", lines[1]) and lines[2] == "climg: 1 of 2 files failed"


def test_no_colours(tmp_path, slow_compiler, ready):
    """climg writes none, so that NO_COLOR has nothing to switch off: of a terminal's sequences it knows the one that erases a line."""
    for args in (["--progress", "always", harness.SAMPLES / "photo.jpg", "--blur", 2, tmp_path / "out.png"], ["--help=all"], ["--blurr"]):
        _, text = on_terminal(*args, env=slow_compiler, steps=[("preparing", ready.touch)])
        assert "\x1b" not in text.replace(ERASE, "")
