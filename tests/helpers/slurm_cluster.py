"""A Slurm cluster on this machine, for the user that runs the tests: one controller, two virtual nodes, no accounting.

It notices a dead node after six seconds, and queues a job again five seconds later, instead of minutes.
Debian's packages slurmctld, slurmd, slurm-client and munge suffice; neither systemd nor root is needed.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from getpass import getuser
from pathlib import Path
from socket import gethostname, socket

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
NODES = ("n1", "n2")
_CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
ReturnToService=2
KillWait=5
SlurmdTimeout=6
SchedulerParameters=batch_sched_delay=0,sched_interval=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=4000
PartitionName=cpu Nodes=n[1-2] Default=YES MaxTime=UNLIMITED State=UP OverSubscribe=NO
"""


def missing_programs() -> list[str]:
    """Return the programs that are not installed."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=path) is None]


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Start a cluster whose files are in a folder; return the environment variables that its commands need."""
    environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    environment["PATH"] += ":/usr/sbin:/sbin"
    folder.chmod(0o755)
    (folder / "state").mkdir()
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o600)
    with _free_ports(3) as ports:
        values = {"host": gethostname(), "user": getuser(), "folder": folder, "ports": ports}
        (folder / "slurm.conf").write_text(_CONFIGURATION.format(**values))
    munge = ["munged", f"--socket={folder}/munge.socket", f"--key-file={folder}/key", f"--log-file={folder}/munge.log"]
    munge += [f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed", "--force"]
    try:
        for line in (munge, ["slurmctld", "-c"], *(["slurmd", "-c", "-N", node] for node in NODES)):
            subprocess.run(line, env=environment, check=True, capture_output=True)
        _wait_until_idle(environment)
        yield environment
    finally:
        subprocess.run(["scancel", f"--user={getuser()}"], env=environment, check=False, capture_output=True)
        for name in (*(f"slurmd-{node}" for node in NODES), "slurmctld", "munge"):
            with suppress(OSError, ValueError):
                os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGTERM)


def kill_node(folder: Path, node: str) -> None:
    """Kill a node's daemon, the processes of the jobs on it and those that supervise them, with SIGKILL."""
    jobs = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            content = path.read_bytes().split(b"\0")
            if f"SLURMD_NODENAME={node}".encode() in content and f"SLURM_CONF={folder}/slurm.conf".encode() in content:
                jobs.append(path.parent)
    parents = {Path("/proc") / (job / "stat").read_text().rpartition(")")[2].split()[1] for job in jobs}
    supervisors = [of for of in parents if (of / "comm").read_text().startswith("slurmstepd")]
    daemon = int((folder / f"slurmd-{node}.pid").read_text())
    for pid in (daemon, *(int(of.name) for of in (*supervisors, *jobs))):  # first those that would report the end
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def run(environment: dict[str, str], *line: str | Path) -> str:
    """Run one of Slurm's commands and return what it prints."""
    done = subprocess.run([str(word) for word in line], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_until(is_true: Callable[[], object], seconds: float = 120) -> None:
    """Wait until a function returns a true value."""
    deadline = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.1)


def _wait_until_idle(environment: dict[str, str]) -> None:
    line = ["sinfo", "--noheader", "--format=%T %D"]
    wait_until(
        lambda: subprocess.run(line, env=environment, capture_output=True, text=True).stdout.split()[:1] == ["idle"]
    )


@contextmanager
def _free_ports(count: int) -> Iterator[list[int]]:
    sockets = [socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    yield [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
