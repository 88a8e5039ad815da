"""A HOME that cannot be written, or is full: PoCL then gets a folder of climg's own, which nobody else can have put there."""

import fcntl
import os
import re
import stat
import subprocess
import time
import zlib

import pytest

import harness

PICTURE = harness.SAMPLES / "soft-alpha.png"


@pytest.fixture
def env(tmp_path):
    """Nobody makes folders in /proc, not even root."""
    (tmp_path / "tmp").mkdir(mode=0o700)
    kept = {name: value for name, value in os.environ.items() if name not in ("POCL_CACHE_DIR", "XDG_CACHE_HOME")}
    return {**kept, "HOME": "/proc", "TMPDIR": str(tmp_path / "tmp")}


def run(env, *args, command=(harness.CLIMG,)):
    return subprocess.run([*command, *map(str, args)], env=env, capture_output=True, text=True, timeout=120, check=False)


def own_folder(env, number=0):
    return harness.pathlib.Path(env["TMPDIR"]) / f"climg-pocl-{os.geteuid()}.{number}"


def test_a_picture(tmp_path, env):
    for _ in range(2):
        assert run(env, PICTURE, tmp_path / "out.tif").stderr == "" and (tmp_path / "out.tif").exists()
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == [own_folder(env).name]


@pytest.mark.parametrize("change", [{}, {"HOME": "relative"}, {"HOME": None}, {"HOME": "/dev/null"}, {"XDG_CACHE_HOME": "/proc/none"}])
def test_folder_of_ours(tmp_path, env, change):
    env = {name: value for name, value in {**env, **change}.items() if value is not None}
    done = run(env, "-v", "--list-devices")
    assert done.returncode == 0, done.stderr
    assert f"PoCL keeps what it compiles in {own_folder(env)}, " in done.stderr
    assert stat.S_IMODE(own_folder(env).stat().st_mode) == 0o700 and any(own_folder(env).iterdir())
    assert not os.path.exists("relative")


def test_a_folder_of_odd_letters(tmp_path, env):
    odd = {**env, "TMPDIR": f"{tmp_path}/\033[31mred\n"}
    os.mkdir(odd["TMPDIR"], 0o700)
    done = run(odd, "-v", "--list-devices")
    assert done.returncode == 0 and own_folder(odd).is_dir()
    assert done.stderr.splitlines()[0].startswith(f"climg: PoCL keeps what it compiles in {tmp_path}/?[31mred?/climg-pocl-")


def test_full_disk(tmp_path, env):
    (tmp_path / "home").mkdir()
    mount = ["unshare", "-Urm", "bash", "-ec", f'mount -t tmpfs -o size=300k none {tmp_path}/home; "$@"', "-"]
    if run(env, "true", command=mount).returncode != 0:
        pytest.skip("no file system can be mounted here")
    env = {**env, "HOME": str(tmp_path / "home")}
    done = run(env, harness.CLIMG, "-v", "--list-devices", command=mount)
    assert done.returncode == 0 and "PoCL keeps what it compiles in" in done.stderr, done.stderr
    # With room it is the one below HOME.
    assert "PoCL keeps" not in run(env, "-v", "--list-devices").stderr
    assert (tmp_path / "home" / ".cache" / "climg" / "pocl").is_dir()


@pytest.mark.parametrize("trap", ["link", "open", "file", "everybody's above"])
def test_what_others_may_have_put_there(tmp_path, env, trap):
    """Programs that lie there are run: nothing is taken from a folder that others could fill."""
    (tmp_path / "theirs").mkdir()
    if trap == "link":
        own_folder(env).symlink_to(tmp_path / "theirs")
    elif trap == "open":
        own_folder(env).mkdir()
        own_folder(env).chmod(0o770)
    elif trap == "file":
        own_folder(env).touch()
    else:
        (tmp_path / "tmp").chmod(0o777)
    done = run(env, "-v", "--list-devices")
    assert not any((tmp_path / "theirs").iterdir()) and (trap != "open" or not any(own_folder(env).iterdir()))
    if trap != "everybody's above":
        assert done.returncode == 0 and f"PoCL keeps what it compiles in {own_folder(env, 1)}, " in done.stderr
    else:
        assert "PoCL keeps" not in done.stderr and done.returncode == 1
        (tmp_path / "tmp").chmod(0o1777)  # as /tmp is
        assert run(env, "--list-devices").returncode == 0


def cut(data):
    return data[:5000]


def flip(data):
    """Some bits of what is run."""
    return bytes(byte ^ 16 if i % 512 == 77 else byte for i, byte in enumerate(data))


def zero(data):
    return data[:4096] + bytes(len(data) - 4096)


@pytest.fixture
def cache(tmp_path, env):
    """(environment, folder) with what PoCL compiled for one command."""
    env = {**env, "XDG_CACHE_HOME": str(tmp_path / "cache"), "CLIMG_DEVICE": "Portable Computing Language"}
    assert run(env, PICTURE, "--median", "2", tmp_path / "right.tif").returncode == 0, "make deps installs PoCL"
    return env, tmp_path / "cache" / "climg" / "pocl"


def damage(folder, pattern, how, known=False):
    """Damages the files; where it is `known`, the sums say that they are so."""
    sums = (folder / "sums").read_text()
    for path in folder.rglob(pattern):
        data = path.read_bytes()
        path.write_bytes(how(data))
        if known:
            sums = sums.replace(f"{zlib.crc32(data):08x} {path.relative_to(folder)}",
                                f"{zlib.crc32(how(data)):08x} {path.relative_to(folder)}")
    (folder / "sums").write_text(sums)


@pytest.mark.parametrize("pattern", ["*.so", "*.bc"])
@pytest.mark.parametrize("how", [cut, flip, zero])
def test_damaged_kernels_are_compiled_again(tmp_path, cache, pattern, how):
    env, folder = cache
    damage(folder, pattern, how)
    done = run(env, PICTURE, "--median", "2", tmp_path / "out.tif")
    assert done.returncode == 0 and re.fullmatch(r"climg: .*/climg/pocl: \d+ files were damaged; PoCL compiles .* again\n", done.stderr)
    assert (tmp_path / "out.tif").read_bytes() == (tmp_path / "right.tif").read_bytes()
    assert run(env, PICTURE, "--median", "2", tmp_path / "out.tif").stderr == ""


def test_after_a_crash_the_folder_is_emptied(tmp_path, cache):
    """Kernels that crash though their sums are right."""
    env, folder = cache
    damage(folder, "*.so", flip, known=True)
    done = run(env, PICTURE, "--median", "2", tmp_path / "out.tif")
    assert done.returncode < 0 and sorted(path.name for path in tmp_path.iterdir()) == ["cache", "right.tif", "tmp"], done
    done = run(env, PICTURE, "--median", "2", tmp_path / "out.tif")
    assert done.returncode == 0 and re.fullmatch(r"climg: .*/climg/pocl: emptied, as a run crashed; PoCL .* again\n", done.stderr)
    assert (tmp_path / "out.tif").read_bytes() == (tmp_path / "right.tif").read_bytes()
    assert run(env, PICTURE, "--median", "2", tmp_path / "out.tif").stderr == ""


def test_what_another_run_compiles_stays(tmp_path, cache):
    """While it is at work; what has no sum then goes with the first run that is alone."""
    env, folder = cache
    (folder / "AB" / "CD").mkdir(parents=True)
    (folder / "AB" / "CD" / "program.bc").write_bytes(b"being written")
    descriptor = os.open(folder, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    (folder / "sums").write_text("00000000 nothing\nno line\n" + (folder / "sums").read_text())
    damage(folder, "*.so", cut)
    done = run(env, PICTURE, "--median", "2", tmp_path / "out.tif")
    assert done.returncode == 0 and "damaged" in done.stderr and (folder / "AB" / "CD" / "program.bc").exists()
    assert (tmp_path / "out.tif").read_bytes() == (tmp_path / "right.tif").read_bytes()


def test_the_users_own_choice(tmp_path, env):
    done = run({**env, "POCL_CACHE_DIR": str(tmp_path / "chosen")}, "-v", "--list-devices")
    assert done.returncode == 0 and "PoCL keeps" not in done.stderr and (tmp_path / "chosen").is_dir()
    assert not any((tmp_path / "tmp").iterdir())


def test_a_dry_run_makes_none(tmp_path, env):
    assert run(env, "-n", PICTURE, "--invert", tmp_path / "out.png").returncode == 0
    assert run(env, "--help").returncode == 0 and not any((tmp_path / "tmp").iterdir())


def test_what_a_killed_run_compiled_goes(tmp_path, cache):
    env, folder = cache
    left = folder / "AB" / "CD"
    left.mkdir(parents=True)
    (left / "program.bc").write_bytes(b"left by a run that was killed")
    marks = [folder / "compiling-1", folder / "tempfile_of_a_killed_run"]  # longer than the names that PoCL makes up
    for mark in marks:
        mark.touch()
    assert run(env, PICTURE, "--median", "2", tmp_path / "out.tif").stderr == "" and not left.exists()
    assert (tmp_path / "out.tif").read_bytes() == (tmp_path / "right.tif").read_bytes()
    assert not any(mark.exists() for mark in marks)


def test_runs_that_compile_at_once(tmp_path, env):
    """None of them removes what another has just compiled and did not note yet."""
    env = {**env, "XDG_CACHE_HOME": str(tmp_path / "cache"), "CLIMG_DEVICE": "Portable Computing Language"}
    commands = [[harness.CLIMG, str(PICTURE), stage, "2", str(tmp_path / f"{i}{stage}.tif")]
                for i in range(4) for stage in ("--blur", "--median", "--scale")]
    running = []
    for command in commands:
        running.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True))
        time.sleep(0.1)
    for process in running:
        assert process.communicate(timeout=240)[1] == "" and process.returncode == 0
