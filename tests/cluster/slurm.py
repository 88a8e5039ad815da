"""A Slurm of its own: munged, a controller and two nodes on this machine, stopped and removed at the end."""

import getpass
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

CONFIGURATION = pathlib.Path(__file__).with_name("slurm.conf")
# Nothing here uses cgroups, but slurmd loads a plugin for them all the same, and only this one starts where none are mounted.
CGROUPS = "CgroupPlugin=cgroup/v1\n"
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [opened.getsockname()[1] for opened in sockets]
    for opened in sockets:
        opened.close()
    return ports


def wait_until(condition, what, seconds=30, log=lambda: ""):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain for {what}\n{log()}"
        time.sleep(0.05)


class Unusable(Exception):
    """Slurm does not run on this machine, which says nothing about climg."""


class Slurm:
    """`with Slurm() as slurm:`; slurm.run("sbatch", ...) gives what a command prints."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="climg-slurm-"))  # short: sockets lie in it
        self.daemons = []
        self.env = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.folder / "slurm.conf")}
        for name in ("SLURM_ARRAY_TASK_ID", "PARALLEL_SEQ", "JOB_COMPLETION_INDEX"):
            self.env.pop(name, None)
        try:
            self.start()
        except AssertionError as failed:
            self.__exit__()
            raise Unusable(str(failed)) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.kill_left_steps()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill_left_steps(self):
        """slurmstepd outlives its slurmd; those of this Slurm have its configuration in their environment."""
        mark = f"SLURM_CONF={self.folder}/slurm.conf".encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                ours = mark in (process / "environ").read_bytes().split(b"\0")
                if ours and int(process.name) != os.getpid():
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:
                pass

    def start(self):
        missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name, path=PATH)]
        assert not missing, f"not installed: {', '.join(missing)}"
        words = {"HOST": socket.gethostname().split(".")[0], "USER": getpass.getuser(), "FOLDER": str(self.folder)}
        words |= {f"PORT{k}": str(port) for k, port in enumerate(free_ports(3))}
        text = CONFIGURATION.read_text()
        for word, value in words.items():
            text = text.replace(f"@{word}@", value)
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "cgroup.conf").write_text(CGROUPS)
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(64))
        key.chmod(0o400)
        at = f"{self.folder}/munge"
        self.daemon("munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}",
                    f"--socket={at}.socket", f"--pid-file={at}.pid", f"--log-file={at}.log", f"--seed-file={at}.seed")
        self.wait_until_up((self.folder / "munge.socket").exists, "munged")
        self.daemon("slurmctld", "-D", "-i")
        for node in ("n1", "n2"):
            self.daemon("slurmd", "-D", "-N", node)
        self.wait_until_up(lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).strip() == "2",
                           "two nodes")

    def wait_until_up(self, condition, what):
        def up_or_ended():
            ended = [daemon.args[0] for daemon in self.daemons if daemon.poll() is not None]
            assert not ended, f"{', '.join(ended)} ended at once\n{self.log()}"
            return condition()
        wait_until(up_or_ended, what, log=self.log)

    def daemon(self, *command):
        with open(self.folder / "output.log", "ab") as log:
            self.daemons.append(subprocess.Popen(command, env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                                                 stderr=log, cwd=self.folder))

    def run(self, *command, cwd=None, check=True):
        done = subprocess.run(command, env=self.env, cwd=cwd, capture_output=True, text=True, timeout=30)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}\n{self.log()}"
        return done.stdout

    def wait_for_jobs(self, seconds=40):
        wait_until(lambda: self.run("squeue", "-h") == "", "the end of all jobs", seconds,
                   lambda: self.run("squeue") + self.log())

    def log(self):
        """The end of each daemon's."""
        return "".join(f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}\n"
                       for path in sorted(self.folder.glob("*.log")))
