"""Random command lines, made of the tables that --help prints, wrong words among them: whatever is typed, no input is
lost, nothing but what was named is written, one fault has one line, and the exit status is one of the four.

What a command may write follows from how it was put together, not from what climg says about it."""

import json
import os
import random
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest
import tifffile

import harness
import pngfile

COMMANDS, PARTS = harness.some(80, 200), 8
SLOW = {"warm", "selftest"}  # they measure, build or check all there is
WRONG = ["", "x", "-1", "0", "1e99", "nan", ",", "=", "3,3", "@missing", "levels=", "2x", "1/0", "7" * 40, "a b", "ü", "*", "%s%n"]
FILES = ["a.png", "b.tif", "c.pgm", "w.tif", "broken.png", "empty.tif", "missing.png", "link.png", "sub", "sub/", "old", "list", "-"]
OUTPUTS = ["new.png", "new.tif", "new.ppm", "old.png", "old.tif", "old", "old/", "new/", "no/where.png", "noext", "new.jpg", "-",
           "a.png", "sub", "link.png", "list", "k.txt"]
FOLDERS = ["old", "new/", "fresh"]
VALUES = {
    "FILE": ["side", "side.json", "old.json", "-", "no/side", "a.png", "list", "k.txt", "old"],
    "NAME": ["auto", "cpu", "0", "all", "0,0", "gpu", "nothing"],
    "I/N": ["1/1", "1/2", "2/2", "3/2", "auto"],
    "N[-M]": ["1", "1-2", "2-", "-1", "2", "9", "2-1"],
    "SIZE": ["8x5", "64M", "50%", "2G", "9x", "x4", "1K", "0x0"],
    "MIN,MAX|auto": ["auto", "0,1", "1,0", "0,255"],
    "KERNEL": ["1 2 1", "@k.txt", "@missing", "-1 0 1 / 1 2 1", "@a.png", "one"],
    "FACTOR": ["2", "1/2", "0.25", "3", "50%"],
    "LEVEL:FACTOR[,...]": ["1:2", "low:0.5", "9:1", "1:"],
    "SIGMA": ["0.7", "2", "auto"],
    "STAGE": ["blur", "-o", "nothing"],
}


def entries(text):
    """(letter or "", name, whether its value may be left out, what stands for its value or "") of each line of a list."""
    found = re.findall(r"^ {2,6}(?:-(\w), )?--([a-z-]+)(\[=| (?! )|(?=  )|$)(.*?)(?:  .*)?$", text, re.M)
    return [(letter, name, mark == "[=", value.removesuffix("]") if mark == "[=" else value.strip())
            for letter, name, mark, value in found]


@pytest.fixture(scope="module")
def tables():
    listed, options = harness.run("--help=all").out.decode().split("Stages, run in the order written:")[1].split("Options, anywhere:")
    stages = {name: (optional, value) for _, name, optional, value in entries(listed)}
    assert {"blur", "wavelet", "invert"} <= set(stages) == set(harness.stages())
    kinds = {stage["name"]: (stage["in"], stage["out"]) for stage in json.loads(harness.run("--help=json").out)["stages"]}
    keys = {name: re.findall(r"^  ([a-z]+)=(\S+)", help, re.M) for name, help in harness.stages().items()}
    options = [entry for entry in entries(options) if entry[1] not in SLOW]
    assert {"output", "page", "in-place"} <= {name for _, name, _, _ in options}
    return stages, keys, kinds, options


def value_for(chance, stands_for, wrong):
    if chance.random() < wrong:
        return chance.choice(WRONG)
    if "|" in stands_for and stands_for not in VALUES:
        return chance.choice(stands_for.split("|"))
    values = VALUES.get(stands_for, ["1", "2", "3", "0.5", "0"])
    return values[int(len(values) * chance.random() ** 2)]  # the first ones are good


class Command:
    """Words, and what they mean."""

    def __init__(self, chance, tables):
        self.stages, self.keys, self.kinds, self.options = tables
        self.kind = "image"
        self.chance = chance
        self.wrong = chance.choice([0, 0, 0, 0.1, 0.5])
        self.reads, self.sides, self.output, self.flags = set(), set(), None, set()
        self.listed = False
        self.files = [chance.choice(FILES[:3] if chance.random() < 0.6 else FILES) for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))]
        likely = FOLDERS if len(self.files) > 1 or self.files[:1] in (["sub"], ["old"]) else OUTPUTS[:3]
        end = [chance.choice(likely if chance.random() < 0.6 else OUTPUTS)] if chance.random() < 0.8 else []
        if end and self.files and chance.random() < 0.15:
            end = [chance.choice(["", "./"]) + chance.choice(self.files)]
        first, last = (self.files + end, []) if chance.random() < 0.2 else (self.files, end)
        stages = [self.stage() for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))]
        pieces = [[word] for word in first] + stages + [[word] for word in last]
        for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
            pieces.insert(chance.randrange(len(pieces) + 1), self.option())
        self.words = [word for piece in pieces for word in piece]
        self.has_stage = bool(stages)
        self.positionals, self.before = [*first, *last], len(first)

    def stage(self):
        chance = self.chance
        name = chance.choice([name for name in sorted(self.stages) if self.kinds[name][0] in (self.kind, "image")] or [*self.stages])
        if chance.random() < 0.1:
            name = chance.choice(sorted(self.stages))
        self.kind = self.kinds[name][1]
        optional, stands_for = self.stages[name]
        stands_for = stands_for.replace("[,KEY=VALUE]...", "")
        value = []
        if stands_for and (not optional or chance.random() < 0.4):
            value.append(value_for(chance, stands_for, self.wrong))
        for key, words in self.keys[name]:
            if chance.random() < 0.15:
                value.append(f"{key}={value_for(chance, words, self.wrong)}")
        value = ",".join(value)
        self.reads |= {value[1:].split(",")[0]} if value.startswith("@") else set()
        if chance.random() < self.wrong / 4:
            name = name[:-1] + chance.choice("xyz")
        if not value:
            return [f"--{name}"]
        return [f"--{name}={value}"] if optional or chance.random() < 0.5 else [f"--{name}", value]

    def option(self):
        chance = self.chance
        letter, name, optional, stands_for = chance.choice(self.options)
        if name in ("help", "version", "list-devices", "verbose", "timing", "null", "max-pixels") and chance.random() < 0.7:
            return []
        if name == "output" and self.output is not None:
            return []  # the last one counts, and options come in any order
        dashed = f"-{letter}" if letter and chance.random() < 0.5 else f"--{name}"
        self.flags.add(name)
        if not stands_for or (optional and chance.random() < 0.5):
            return [dashed]
        if name == "output":
            value = self.output = chance.choice(OUTPUTS)
        elif name == "files-from":
            value = "-" if chance.random() < 0.3 else "list"
            self.reads |= {"list", "a.png", "sub/d.png"} if value == "list" else set()
            self.listed |= value == "-"
        elif name == "timing":
            value = chance.choice(["table", "json", "json:side", "table:-", "json:a.png", "csv"])
            self.sides.add(value.partition(":")[2])
        else:
            value = value_for(chance, stands_for, self.wrong)
            self.sides |= {value} if name in ("trace", "report") else set()
        return [f"{dashed}={value}"] if optional or chance.random() < 0.4 else [dashed, value]

    def inputs(self):
        """The words that are inputs, and the output, as cli.md has it."""
        listed = "files-from" in self.flags
        if self.flags & {"in-place", "info"}:
            return self.positionals, None
        if self.output is None and len(self.positionals) + listed > 1:
            return self.positionals[:-1], self.positionals[-1]
        return self.positionals, self.output


def make_files(folder, chance):
    rng = np.random.default_rng(chance.randrange(2 ** 32))
    for name in ("sub/deep", "old", "tmp", "home"):
        (folder / name).mkdir(parents=True)
    for name, shape in (("a.png", (9, 13, 3)), ("sub/d.png", (9, 13, 3)), ("sub/deep/e.png", (5, 6, 1)), ("old.png", (4, 4, 4)),
                        ("old/a.png", (3, 3, 1))):
        pngfile.write_png(folder / name, rng.integers(0, 256, shape, dtype=np.uint8))
    with tifffile.TiffWriter(folder / "b.tif") as tiff:
        for _ in range(2):
            tiff.write(rng.integers(0, 65536, (8, 11), dtype=np.uint16), metadata=None)
    tifffile.imwrite(folder / "old.tif", rng.random((6, 7), np.float32), metadata=None)
    shutil.copy(coefficients(), folder / "w.tif")
    (folder / "c.pgm").write_bytes(b"P5 7 6 255\n" + rng.bytes(42))
    (folder / "broken.png").write_bytes((folder / "a.png").read_bytes()[:-40])
    (folder / "empty.tif").touch()
    (folder / "link.png").symlink_to("a.png")
    (folder / "k.txt").write_text("0 1 0\n1 2 1\n0 1 0\n")
    (folder / "list").write_text("a.png\nsub/d.png\n")
    (folder / "old.json").write_text("{}\n")


def coefficients(made={}):
    if not made:
        made["path"] = os.path.join(harness.tempfile.mkdtemp(prefix="climg-test-"), "w.tif")
        harness.run(harness.SAMPLES / "soft-alpha.png", "--scale", "1/8", "--wavelet=2", made["path"])
    return made["path"]


def contents(folder):
    """Returns the contents of regular files. A link has its file's contents."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and not path.is_symlink() and "home" not in path.parts}


def files_below(folder, word, before):
    """The files that a word names: itself, what is in it, what it links to."""
    path = os.path.normpath(os.path.relpath(os.path.realpath(folder / word), os.path.realpath(folder))) if word else ""
    return {name for name in before if name == path or name.startswith(path + "/")} | ({path} if path else set())


def may_change(folder, command, before):
    """Returns the files that the command may create or change."""
    inputs, output = command.inputs()
    protected = set().union(*(files_below(folder, word, before) for word in {*inputs, *command.reads} - {"-"})) & set(before)
    allowed = set().union(*(files_below(folder, word, before) for word in command.sides - {"-", ""}), set())
    if "info" in command.flags:
        return set()
    if "in-place" in command.flags:
        return allowed | protected - {"list", "k.txt"}
    if output not in (None, "-"):
        last_of_first = output == command.positionals[-1:] and command.before == len(command.positionals)
        named = command.output is not None or "yes" in command.flags or not (last_of_first and command.has_stage)
        allowed |= files_below(folder, output, before) if named or not (folder / output).is_file() else set()
    return allowed - protected


def below(path, folders):
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def check_lines(command, status, error):
    """One line for one fault, and none without."""
    talks = command.flags & {"verbose", "timing", "progress", "dry-run"}
    lines = [line for line in error.replace("\r\x1b[K", "\n").splitlines() if line and ": warning: " not in line and "left out;" not in line]
    assert talks or all(line.startswith("climg: ") for line in lines)
    # --info says of each word what is there, and a stack has an input as often as it is named.
    named = command.inputs()[0] if "info" in command.flags or any(word.startswith("--stack") for word in command.words) else []
    assert talks or len(set(lines)) == len(lines) or len(set(named)) < len(named), "a line comes twice"
    if status == 0:
        assert talks or all(line.endswith("; left out") for line in lines)  # an input of a stack
        return
    assert lines[-1].startswith("climg: "), "the exit status is not explained"
    several = re.search(r"^climg: (\d+) of (\d+) files failed(?:, and (\d+) (?:was|were) not tried)?", lines[-1])
    if several and not talks:
        failed, count, untried = (int(number or 0) for number in several.groups())
        assert 1 <= len(lines) - 1 <= failed <= count and (status == 3) == (failed + untried < count)
    elif not talks and status != 3:
        # A stack also names each file that it leaves out.
        assert len([line for line in lines if not line.endswith("; left out")]) <= 1, "two lines for one fault"
    assert all(len(line) < 1100 for line in lines) or talks


def run(folder, command, stdin):
    env = {"TMPDIR": str(folder / "tmp"), "XDG_CONFIG_HOME": str(folder / "home")}
    return subprocess.run([*harness.climg_with(env), *command.words], cwd=folder, input=stdin, capture_output=True, timeout=60,
                          env={**os.environ, **env}, check=False)


def check(folder, command, stdin):
    before = contents(folder)
    if command.listed:
        command.reads |= {name for name in ("a.png", "c.pgm") if name.encode() in stdin.splitlines()}
    allowed = may_change(folder, command, before)
    done = run(folder, command, stdin)
    after, error = contents(folder), done.stderr.decode()
    assert 0 <= done.returncode <= 3, "that is no exit status of climg's"
    check_lines(command, done.returncode, error)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    if "resume" in command.flags:  # it keeps a record beside the outputs
        after = {name: bytes for name, bytes in after.items() if os.path.basename(name) != ".climg-done"}
        changed &= before.keys() | after.keys()
    assert all(below(name, allowed) for name in changed), f"{changed} changed"
    left = [name for name in after if os.path.basename(name).startswith(".") or name.startswith("tmp/")]
    assert all("resume" in command.flags and os.path.basename(name) == ".climg-done" for name in left), f"{left} are left"
    if "dry-run" in command.flags:
        assert not changed, "nothing was to be written"
    if done.returncode in (1, 2):  # 2 also where an option does not fit what the input contains, which is found after --trace has begun
        assert all(below(name, command.sides) for name in changed), "the output changed although all failed"


@pytest.mark.parametrize("part", range(PARTS))
def test_random_commands(tmp_path, tables, part):
    statuses = []
    for number in range(part, COMMANDS, PARTS):
        chance = random.Random(f"{harness.seed_text()}/{number}")
        folder = tmp_path / str(number)
        folder.mkdir()
        make_files(folder, chance)
        command = Command(chance, tables)
        stdin = chance.choice([b"", (folder / "a.png").read_bytes(), b"a.png\nc.pgm\n"])
        try:
            check(folder, command, stdin)
        except AssertionError as wrong:
            done = run(folder, command, stdin)
            raise AssertionError(f"$ climg {shlex.join(command.words)}\n{wrong}\nAgain: {done.returncode}\n"
                                 f"{done.stderr.decode()}") from None
        shutil.rmtree(folder)
