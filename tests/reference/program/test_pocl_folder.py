"""A HOME that cannot be written, or is full: PoCL then gets a folder of climg's own, which nobody else can have put there."""

import fcntl
import os
import shutil
import signal
import stat
import subprocess
import time

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
        assert "PoCL keeps" not in done.stderr and (done.returncode == 1 or "PoCL" not in done.stdout)  # a GPU may be there
        (tmp_path / "tmp").chmod(0o1777)  # as /tmp is
        assert run(env, "--list-devices").returncode == 0


def cut(data):
    return data[:5000]


def flip(data):
    """Some bits of what is run."""
    return bytes(byte ^ 16 if i % 512 == 77 else byte for i, byte in enumerate(data))


def zero(data):
    return data[:4096] + bytes(len(data) - 4096)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder with what PoCL compiled for one command, and its output."""
    folder = tmp_path_factory.mktemp("compiled")
    kept = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    env = {**kept, "XDG_CACHE_HOME": str(folder / "cache"), "CLIMG_DEVICE": "Portable Computing Language"}
    assert run(env, PICTURE, "--invert", folder / "right.tif").returncode == 0, "make deps installs PoCL"
    return folder


@pytest.fixture
def cache(tmp_path, env, compiled):
    """(environment, folder) with what PoCL compiled for one command."""
    shutil.copytree(compiled, tmp_path, dirs_exist_ok=True)
    return ({**env, "XDG_CACHE_HOME": str(tmp_path / "cache"), "CLIMG_DEVICE": "Portable Computing Language"},
            tmp_path / "cache" / "climg" / "pocl")


def invert(tmp_path, env, *options):
    """Returns the messages of a run whose output must be correct."""
    done = run(env, PICTURE, "--invert", *options, tmp_path / "out.tif")
    assert done.returncode == 0 and (tmp_path / "out.tif").read_bytes() == (tmp_path / "right.tif").read_bytes()
    (tmp_path / "out.tif").unlink()
    return done.stderr


def markers(folder):
    return list(folder.glob("climg-running-*"))


@pytest.mark.some(2)
@pytest.mark.parametrize("pattern", ["*.so", "*.bc"])
@pytest.mark.parametrize("how", [cut, flip, zero])
def test_at_worst_every_second_run_crashes(tmp_path, cache, pattern, how):
    """Damaged cache files, without a handler for signals: SIGKILL would have the same effect."""
    env, folder = cache
    for path in folder.rglob(pattern):
        path.write_bytes(how(path.read_bytes()))
    done = run(env, PICTURE, "--invert", tmp_path / "out.tif")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "out.tif") == ["cache", "right.tif", "tmp"]
    assert (tmp_path / "out.tif").exists() == (done.returncode == 0) and bool(markers(folder)) == (done.returncode < 0)
    (tmp_path / "out.tif").unlink(missing_ok=True)
    assert ("emptied, as a run crashed" in invert(tmp_path, env, "-v")) == (done.returncode < 0)
    assert invert(tmp_path, env) == "" and not markers(folder)


def test_what_another_run_compiles_stays(tmp_path, cache):
    """Also after a crash, while that run is at work."""
    env, folder = cache
    (folder / "AB" / "CD").mkdir(parents=True)
    (folder / "AB" / "CD" / "program.bc").write_bytes(b"being written")
    (folder / "climg-running-of-a-crash").touch()
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    assert "emptied" not in invert(tmp_path, env, "-v") and (folder / "AB" / "CD" / "program.bc").exists()
    os.close(lock)
    assert "emptied" in invert(tmp_path, env, "-v") and not (folder / "AB").exists() and not markers(folder)


def test_a_link_to_a_folder_is_emptied(tmp_path, cache):
    env, folder = cache
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    (folder / "AB").mkdir()
    (folder / "climg-running-of-a-crash").touch()
    assert "emptied" in invert(tmp_path, env, "-v") and not (folder / "AB").exists()
    assert folder.is_symlink() and "emptied" not in invert(tmp_path, env, "-v")


def sleeps(process):
    """True if for a third of a second no thread of the process was running or waiting for a processor."""
    for _ in range(30):
        try:
            states = [thread.read_text().rpartition(")")[2].split()[0] for thread in harness.pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat")]
        except OSError:  # a thread has ended
            return False
        if states.count("S") != len(states):
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("number, marked", [(signal.SIGTERM, False), (signal.SIGKILL, True), (signal.SIGABRT, True)])
def test_runs_that_are_ended(tmp_path, cache, number, marked):
    """A signal that asks for the end is no crash."""
    env, folder = cache
    running = subprocess.Popen([harness.CLIMG, "-", "--invert", str(tmp_path / "out.tif")], env=env, stdin=subprocess.PIPE)
    while not markers(folder) or not sleeps(running):  # its handlers are there again after LLVM was loaded
        assert running.poll() is None
        time.sleep(0.01)
    running.send_signal(number)
    assert running.wait(60) == -number and bool(markers(folder)) == marked


def test_the_users_own_choice(tmp_path, env):
    done = run({**env, "POCL_CACHE_DIR": str(tmp_path / "chosen")}, "-v", "--list-devices")
    assert done.returncode == 0 and "PoCL keeps" not in done.stderr and (tmp_path / "chosen").is_dir()
    assert not any((tmp_path / "tmp").iterdir())


@pytest.mark.parametrize("choice", ["/proc/nowhere/cache", os.path.relpath(PICTURE), "/" + 300 * "x"], ids=["proc", "a file", "long"])
def test_a_choice_that_cannot_be_written(tmp_path, env, choice):
    """It is named, and climg's own folder used."""
    done = run({**env, "POCL_CACHE_DIR": choice}, "--list-devices")
    assert done.returncode == 0 and done.stderr.startswith(f"climg: POCL_CACHE_DIR={choice} cannot be written, ")
    assert own_folder(env).is_dir()


def test_no_folder_can_be_written(tmp_path, env):
    """The message names what can be set. With another driver than PoCL's there is a device."""
    done = run({**env, "TMPDIR": "/proc"}, PICTURE, "--invert", tmp_path / "out.png")
    assert done.returncode == 0 or "neither XDG_CACHE_HOME or HOME nor TMPDIR can be written" in done.stderr


def test_a_dry_run_makes_none(tmp_path, env):
    assert run(env, "-n", PICTURE, "--invert", tmp_path / "out.png").returncode == 0
    assert run(env, "--help").returncode == 0 and not any((tmp_path / "tmp").iterdir())


def test_runs_that_compile_at_once(tmp_path, env):
    """None of them removes what another has just compiled."""
    env = {**env, "XDG_CACHE_HOME": str(tmp_path / "cache"), "CLIMG_DEVICE": "Portable Computing Language"}
    commands = [[harness.CLIMG, str(PICTURE), stage, str(tmp_path / f"{i}{stage}.tif")] for i in range(2) for stage in ("--invert", "--gray")]
    running = []
    for command in commands:
        running.append(subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True))
        time.sleep(0.1)
    for process in running:
        assert process.communicate(timeout=240)[1] == "" and process.returncode == 0
