"""Completion: the program's own answers, and the completions of bash, zsh and fish."""

import os
import re
import shutil
import subprocess

import pytest

import harness

COMPLETIONS = harness.ROOT / "completions"
STAGES = sorted(path.stem.replace("_", "-") for path in (harness.ROOT / "src" / "stages").glob("*.c"))

# The words before, the typed word, and its completions. None: files.
CASES = [
    ("in.png", "--sca", ["--scale"]),
    ("in.png", "-", None),
    ("--scale", "1/", ["1/2", "1/4", "1/8"]),
    ("--scale", "2,fi", ["2,filter="]),
    ("--scale", "2,filter=bi", ["2,filter=bicubic", "2,filter=bilinear"]),
    ("--scale", "2,filter=nearest,fi", []),
    ("--scale", "2,filterx", []),
    ("in.png", "--wavelet=biort=legall,bi", []),
    ("in.png", "--wavelet=bio", ["--wavelet=biort="]),
    ("in.png", "--wavelet=biort=leg", ["--wavelet=biort=legall"]),
    ("in.png", "--wavelet=2,qshift=qshift_0", ["--wavelet=2,qshift=qshift_06"]),
    ("-m", "i", ["image"]),
    ("", "-m=i", ["-m=image"]),
    ("-qm", "i", ["image"]),
    ("-oout.ppm", "--bl", ["--blur"]),  # -o has its value
    ("-oout.tif", "p", []),
    ("--edge", "", ["clamp", "mirror", "wrap", "zero"]),
    ("in.png", "--timing=j", ["--timing=json"]),
    ("in.png", "--help=blu", ["--help=blur"]),
    ("in.png", "--only=png,ti", ["--only=png,tif", "--only=png,tiff"]),
    ("--only", "png,ti", ["png,tif", "png,tiff"]),
    ("in.png", "--no-such=", []),
    ("--denoise", "", []),  # its value follows =
    ("in.png", "ph", []),
]


def ask(before, word):
    run = subprocess.run([harness.CLIMG, f"--after={before}", f"--complete={word}"], capture_output=True, text=True, check=True)
    return dict(line.split("\t") for line in run.stdout.splitlines())


@pytest.mark.parametrize("before, word, expected", [case for case in CASES if case[2] is not None])
def test_program_says_what_a_word_may_become(before, word, expected):
    assert list(ask(before, word)) == expected


def test_every_stage_and_option_is_offered_with_its_meaning():
    offered = ask("", "-")
    overview = subprocess.run([harness.CLIMG, "--help=all"], capture_output=True, text=True, check=True).stdout
    named = set(re.findall(r"^ .{1,5}(--[a-z-]+)", overview, re.M))
    assert {f"--{stage}" for stage in STAGES} <= set(offered)
    assert set(offered) == named
    assert all(offered.values())


def complete_in_bash(folder, line):
    """COMPREPLY for the words of the line, broken as readline breaks them."""
    words = re.findall(r"[=:@]|[^\s=:@]+", line) + ([""] if line.endswith(" ") else [])
    script = f'''source {COMPLETIONS}/climg.bash; compopt() {{ :; }}
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}; _climg; printf '%s\\n' "${{COMPREPLY[@]}}"'''
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=True).stdout.split()


def complete_in_fish(folder, line):
    script = f"source {COMPLETIONS}/climg.fish; complete --do-complete='{line}'"
    run = subprocess.run(["fish", "--no-config", "-c", script], cwd=folder, capture_output=True, text=True, check=True,
                         env=os.environ | {"HOME": str(folder)})
    return [answer.split("\t")[0] for answer in run.stdout.splitlines()]


# A zsh in a terminal of its own, where TAB is pressed: what it inserts.
ZSH = '''zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z 'PS1=; fpath=({functions} $fpath); autoload -Uz compinit; compinit -u -D; LISTMAX=1000; cd {folder}; print rea""dy'
zpty -r z seen '*ready*'
zpty -n -w z '{line}'$'\\t'$'\\C-a'"print -r -- '<"$'\\C-e'">'"$'\\n'
zpty -r z seen $'*\\n<*>*'; print -r -- $seen
'''


def complete_in_zsh(folder, line):
    functions = folder / "functions"
    functions.mkdir()
    shutil.copy(COMPLETIONS / "climg.zsh", functions / "_climg")
    script = ZSH.format(functions=functions, folder=folder, line=line)
    run = subprocess.run(["zsh", "-f", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    return re.findall(r"^<(.*?) *>", run.stdout, re.M)[-1].split()[-1:]


SHELLS = {"bash": complete_in_bash, "fish": complete_in_fish, "zsh": complete_in_zsh}
# One candidate each, which every shell inserts whole; bash puts it in place of the piece behind = only.
LINES = {"climg a.png --sca": "--scale", "climg a.png --scale 2,filter=bil": "2,filter=bilinear", "climg a.png --wavelet=biort=leg":
         "--wavelet=biort=legall", "climg ph": "photo.png", "climg a.png --convolve @ker": "@kernel.txt"}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("line", LINES)
def test_shell_completes(shell, line, tmp_path, monkeypatch):
    if shutil.which(shell) is None and not os.environ.get("CI"):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "climg").symlink_to(harness.CLIMG)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "photo.png").write_bytes(b"")
    (tmp_path / "kernel.txt").write_bytes(b"")
    answers = SHELLS[shell](tmp_path, line)
    assert len(answers) == 1
    assert answers[0] in (LINES[line], re.split("[=@]", LINES[line])[-1])


def test_bash_offers_other_files_if_no_image_fits(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "climg").symlink_to(harness.CLIMG)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    for name in ("list.txt", "photo.png", "photo.icc"):
        (tmp_path / name).write_bytes(b"")
    assert complete_in_bash(tmp_path, "climg --files-from li") == ["list.txt"]
    assert complete_in_bash(tmp_path, "climg ph") == ["photo.png"]
