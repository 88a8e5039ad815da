"""A release is the same bit for bit, wherever and by whom it is made; `make sbom` says what CycloneDX 1.5 requires."""

import datetime
import json
import os
import re
import shutil
import subprocess
import tarfile

import pytest

import harness

VERSION = re.search(r"^VERSION := (\S+)", (harness.ROOT / "Makefile").read_text(), re.M)[1]
PACKAGES = re.search(r"^PACKAGES := (.*)", (harness.ROOT / "Makefile").read_text(), re.M)[1].split()
# bom-1.5.schema.json of CycloneDX.
KINDS = {"application", "framework", "library", "container", "platform", "operating-system", "device", "device-driver", "firmware", "file",
         "machine-learning-model", "data"}
SERIAL = r"urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

git = pytest.mark.skipif(not (harness.ROOT / ".git").exists() or not shutil.which("git"), reason="not a clone: a release is what is committed")


def make(folder, *words, umask=0o022, **env):
    """Without what the make that runs the tests was told."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "SOURCE_DATE_EPOCH")}
    done = subprocess.run(["make", "-s", "-C", folder, *words], env={**inherited, **env}, capture_output=True, text=True, umask=umask)
    assert done.returncode == 0, done.stderr


def clone(folder):
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", harness.ROOT, folder], check=True)
    shutil.copy(harness.ROOT / "Makefile", folder)  # as it is tried
    return folder


@git
def test_dist_is_the_same_twice(tmp_path):
    """In other folders, at other times, with other settings."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".gitconfig").write_text("[tar]\n\tumask = 077\n[core]\n\tautocrlf = true\n")
    ours, theirs = clone(tmp_path / "one"), clone(tmp_path / "another folder")
    make(ours, "dist")
    make(theirs, "dist", umask=0o077, HOME=str(tmp_path / "home"), TZ="Asia/Kathmandu", LC_ALL="C", GZIP="")
    name = f"build/climg-{VERSION}.tar.gz"
    assert (ours / name).stat().st_size > 1 << 20 and (ours / name).read_bytes() == (theirs / name).read_bytes()


def members(archive):
    """{name: mode and bytes} of files."""
    with tarfile.open(archive) as tar:
        return {each.name: (each.mode & 0o111, tar.extractfile(each).read()) for each in tar if each.isfile()}


@git
def test_dist_of_an_unpacked_release(tmp_path):
    """Without git, even inside another git checkout: the same files, and the same time in `make sbom`."""
    ours, name = clone(tmp_path / "one"), f"build/climg-{VERSION}.tar.gz"
    make(ours, "dist")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["tar", "-C", tmp_path, "-xzf", ours / name], check=True)
    unpacked = tmp_path / f"climg-{VERSION}"
    for _ in range(2):  # the second time there is a build folder
        make(unpacked, "dist")
    assert members(unpacked / name) == members(ours / name)
    for folder in (ours, unpacked):
        make(folder, "sbom")
    sbom = f"build/climg-{VERSION}.cdx.json"
    assert (ours / sbom).read_bytes() == (unpacked / sbom).read_bytes()


@pytest.mark.parametrize("target, program", [("docs", "pandoc"), ("deb", "dh")])
def test_missing_program(tmp_path, target, program):
    """Is named in one line."""
    for folder in os.environ["PATH"].split(":"):
        for path in os.scandir(folder) if os.path.isdir(folder) else ():
            if path.name != program and not (tmp_path / path.name).is_symlink():
                (tmp_path / path.name).symlink_to(path.path)
    inherited = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-s", "-C", harness.ROOT, target], env={**inherited, "PATH": str(tmp_path)}, capture_output=True,
                          text=True, check=False)
    said = f"make {target} needs {program}, which make deps-{target} installs on Debian and Ubuntu"
    assert done.returncode != 0 and done.stderr.splitlines()[0] == said


def sbom_of(folder, **env):
    make(harness.ROOT, "sbom", f"BUILD={folder}", **env)
    return (folder / f"climg-{VERSION}.cdx.json").read_text()


def test_sbom_is_the_same_twice(tmp_path):
    epoch = {"SOURCE_DATE_EPOCH": "1234567890"}
    first, again = sbom_of(tmp_path / "a", **epoch), sbom_of(tmp_path / "b", TZ="Asia/Kathmandu", **epoch)
    assert first == again and json.loads(first)["metadata"]["timestamp"] == "2009-02-13T23:31:30Z"
    assert first != sbom_of(tmp_path / "c", SOURCE_DATE_EPOCH="1234567891")


def check_component(component):
    """type and name are required; a licence is an expression alone or a list of licences."""
    assert component["type"] in KINDS and component["name"] and component["version"] and component["bom-ref"]
    assert component["purl"] == f"pkg:generic/{component['name']}@{component['version']}"
    licences = component.get("licenses", [])
    assert all(list(licence) == ["expression"] and licence["expression"] for licence in licences) and len(licences) <= 1
    assert licences or component["name"] == "opencl-icd-loader"


def test_sbom_is_cyclonedx(tmp_path):
    bom = json.loads(sbom_of(tmp_path, SOURCE_DATE_EPOCH="1700000000"))
    assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"] == "1.5" and bom["version"] == 1
    assert re.fullmatch(SERIAL, bom["serialNumber"])
    assert datetime.datetime.strptime(bom["metadata"]["timestamp"], "%Y-%m-%dT%H:%M:%SZ")
    program = bom["metadata"]["component"]
    assert program["name"] == "climg" and program["version"] == VERSION
    for component in (program, *bom["components"]):
        check_component(component)
    refs = [component["bom-ref"] for component in (program, *bom["components"])]
    assert len(set(refs)) == len(refs) == 1 + len(PACKAGES)
    dependencies = {one["ref"]: one.get("dependsOn", []) for one in bom["dependencies"]}
    assert sorted(dependencies) == sorted(refs) and dependencies[program["bom-ref"]] == refs[1:]
    installed = {subprocess.run(["pkg-config", "--modversion", package], capture_output=True, text=True, check=True).stdout.strip()
                 for package in PACKAGES}
    assert {component["version"] for component in bom["components"]} == installed
