"""A replacement has the old file's rights and extended attributes."""

import os
import shutil
import struct
import subprocess

import numpy as np
import pytest

import harness
import pngfile

ALICE, BOB, USERS, SECRET = 4001, 4002, 4100, 4200
ACL = "system.posix_acl_access"
USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 1, 2, 4, 16, 32


def access_list(*entries):
    """Linux' format: version 2, then tag, permissions and number of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, number) for tag, bits, number in entries)


NUMBERLESS = 2 ** 32 - 1


def alice_may(group, other):
    """A list in which alice may read and write; the mask lets all through."""
    return access_list((USER_OBJ, 6, NUMBERLESS), (USER, 6, ALICE), (GROUP_OBJ, group, NUMBERLESS), (MASK, 6, NUMBERLESS),
                       (OTHER, other, NUMBERLESS))


def attributes(path):
    return {name: os.getxattr(path, name) for name in os.listxattr(path) if not name.startswith("security.")}


def put(path, name, value):
    """If the file system has none, there are none before and after."""
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        assert error.errno == 95


@pytest.mark.parametrize("chain,output", [(["--invert"], ["old.png"]), (["--blur", "1", "--in-place"], [])], ids=["output", "in_place"])
def test_lists_and_attributes(tmp_path, rng, chain, output):
    old = tmp_path / "old.png"
    for path in (tmp_path / "in.png", old):
        pngfile.write_png(path, rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    old.chmod(0o600)
    put(old, "user.note", b"hello")
    put(old, "user.none", b"")
    put(old, ACL, alice_may(0, 0))
    before, mode, data = attributes(old), old.stat().st_mode, old.read_bytes()
    harness.run(*([old] if not output else [tmp_path / "in.png"]), *chain, *output, "-y", cwd=tmp_path)
    assert old.read_bytes() != data and (attributes(old), old.stat().st_mode) == (before, mode)


def test_the_folders_list_gives_no_more(tmp_path, rng):
    """New files get the folder's default list; what replaces a file without one has none."""
    pngfile.write_png(tmp_path / "in.png", rng.integers(0, 256, (9, 12, 3), dtype=np.uint8))
    old = tmp_path / "old.png"
    old.write_bytes(b"")
    old.chmod(0o640)
    put(tmp_path, "system.posix_acl_default", alice_may(0, 0))
    harness.run("in.png", "--invert", "-o", "old.png", cwd=tmp_path)
    assert attributes(old) == {} and old.stat().st_mode & 0o777 == 0o640


OTHER_OWNERS = [  # bob's further groups, the file's mode and list; afterwards its group and mode
    ([SECRET], 0o660, None, SECRET, 0o660),
    ([SECRET], 0o660, alice_may(6, 0), SECRET, 0o660),
    ([], 0o676, None, USERS, 0o666),
    ([], 0o672, None, USERS, 0o622),
    ([], 0o606, None, USERS, 0o606),
    ([], 0o666, alice_may(0, 6), USERS, 0o666),
    ([], 0o662, alice_may(0, 2), USERS, 0o622)]


def test_other_owners(open_folder):
    """bob, whose own group is `users`, replaces alice's file of the group `secret`. Only root can play both."""
    if os.getuid() != 0:
        return
    open_folder.chmod(0o777)
    shutil.copy(os.path.realpath(harness.CLIMG), open_folder / "climg")
    pngfile.write_png(open_folder / "in.png", np.zeros((9, 12, 3), np.uint8))
    for number, (groups, mode, listed, group, after) in enumerate(OTHER_OWNERS):
        old = open_folder / f"{number}.png"
        old.write_bytes(b"")
        os.chown(old, ALICE, SECRET)
        old.chmod(mode)
        if listed:
            put(old, ACL, listed)
        before = attributes(old)
        done = subprocess.run([open_folder / "climg", "in.png", "--invert", "-o", old], cwd=open_folder, user=BOB, group=USERS,
                              extra_groups=groups, capture_output=True, text=True, check=False,
                              env={**os.environ, "HOME": str(open_folder), "POCL_CACHE_DIR": str(open_folder / "cache")})
        assert done.returncode == 0, done.stderr
        there = old.stat()
        assert (there.st_uid, there.st_gid, there.st_mode & 0o777) == (BOB, group, after), number
        assert attributes(old) == (before if groups else {}), number
