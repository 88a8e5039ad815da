"""A HOME that cannot be written, or is full: PoCL then gets a folder of climg's own, which nobody else can have put there."""

import os
import stat
import subprocess

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
    # The same folder with room is PoCL's own.
    assert "PoCL keeps" not in run(env, "-v", "--list-devices").stderr
    assert (tmp_path / "home" / ".cache" / "pocl").is_dir()


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


def test_the_users_own_choice(tmp_path, env):
    done = run({**env, "POCL_CACHE_DIR": str(tmp_path / "chosen")}, "-v", "--list-devices")
    assert done.returncode == 0 and "PoCL keeps" not in done.stderr and (tmp_path / "chosen").is_dir()
    assert not any((tmp_path / "tmp").iterdir())


def test_a_dry_run_makes_none(tmp_path, env):
    assert run(env, "-n", PICTURE, "--invert", tmp_path / "out.png").returncode == 0
    assert run(env, "--help").returncode == 0 and not any((tmp_path / "tmp").iterdir())
