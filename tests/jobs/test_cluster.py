"""Jobs and a figure on a local dask cluster of two workers: equal results, and lost workers."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pandas
import pytest
import stalling_search
import tiny_figures
from distributed import Security
from killing import dask_processes
from light_run import LINES, LightRun, attempts, light_job, wait_for_lines
from local_cluster import dask_workers, kill_worker
from refusals import exits, missing, refuses
from rich.console import Console
from same_search import assert_same_search
from tiny_search import TINY, search

import nasbench1shot1 as nb
from nasbench1shot1 import cli
from nasbench1shot1.jobs import cluster as cluster_module
from nasbench1shot1.jobs.cluster import dask_cluster
from nasbench1shot1.jobs.job import Job
from nasbench1shot1.jobs.pool import Watcher, WorkerOptions, run_jobs, this_process
from nasbench1shot1.runs.folder import METRICS, read_lines
from nasbench1shot1.runs.lock import locked
from nasbench1shot1.runs.machine import resolve_device

QUIET = Console(quiet=True)
SEARCH = "nasbench1shot1.one_shot_search.searching:search"


@pytest.fixture(scope="module")
def cluster():
    with dask_workers(2, resources={"GPU": 1}) as opened:
        yield opened


@pytest.fixture
def workers(cluster):
    with dask_cluster(cluster.scheduler_address) as opened:
        yield opened


def test_a_cluster_skips_resumes_and_reports_jobs_like_one_machine(tmp_path, workers):
    jobs = [light_job(tmp_path, "stopped", fail="stop"), light_job(tmp_path, "crashed", crash=True)]
    assert run_jobs(jobs, workers) == {"stopped": "stop"}
    jobs = [jobs[0], light_job(tmp_path, "bad", fail="a bad day"), light_job(tmp_path, "gpu", gpu=True)]
    assert run_jobs(jobs, workers) == {"bad": "a bad day"}
    assert run_jobs(jobs[::2], workers) == {}
    assert [len(attempts(job)) for job in jobs] == [2, 1, 1]
    assert [len(read_lines(job.folder / METRICS)) for job in jobs] == [LINES, 2, LINES]
    assert len(attempts(light_job(tmp_path, "crashed"))) == 2  # given out again
    assert not list(tmp_path.glob(".*.token"))


def test_the_search_of_a_killed_worker_finishes_on_another_worker_with_equal_results(tmp_path, cluster, workers):
    job = Job(
        name="search",
        command=stalling_search.COMMAND,
        folder=tmp_path / "search",
        options={**TINY, "epochs": 2},
        threads=1,
    )
    killed = []

    class Kill(Watcher):
        def tick(self, waiting):
            if waiting and not killed and len(read_lines(job.folder / METRICS)) == 2:
                killed.extend(stalling_search.parents(job.folder))
                kill_worker(killed[0], cluster)

    assert run_jobs([job], workers, Kill()) == {}
    first, second = stalling_search.parents(job.folder)  # it ran exactly twice
    assert [first] == killed
    assert first != second
    unbroken = replace(job, command=SEARCH, folder=tmp_path / "unbroken")
    with this_process() as here:
        assert run_jobs([unbroken], here) == {}
    assert_same_search(*(nb.load_run(each.folder) for each in (job, unbroken)))


def test_each_command_imports_the_modules_in_its_current_folder_anew(tmp_path, cluster, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in (1, 10):
        code = f"import light_run\n\n\ndef run(out):\n    light_run.run(out, seed={seed})\n"
        (tmp_path / "changing.py").write_text(code)
        jobs = [Job(name=name, command="changing:run", folder=tmp_path / f"{name}-{seed}") for name in ("a", "b")]
        with dask_cluster(cluster.scheduler_address) as workers:  # both of them get a job
            assert run_jobs(jobs, workers) == {}
        assert [LightRun.open(job.folder).config["seed"] for job in jobs] == [seed, seed]


def test_a_figure_on_a_cluster_equals_the_figure_on_one_machine(tmp_path, cluster, monkeypatch, capsys):
    tiny_figures.shrink(monkeypatch)
    out, [curve, *_], address = tmp_path / "figure", tiny_figures.ONLY, cluster.scheduler_address
    tiny_figures.reproduce(out, "--epochs", "1", "--only", curve, "--seeds", "0", "--scheduler", address)
    said = capsys.readouterr().out
    assert not missing(said, address, "1/1", tiny_figures.JOBS[0])
    assert len(pandas.read_csv(out / "figure12-darts-weight-decay-1e-4.csv")) == 2
    options = {**tiny_figures.TINY, "optimizer": "darts", "space": "s1", "epochs": 1, "seed": 0, "weight_decay": 1e-4}
    alone = search(tmp_path / "alone", **options, device="auto")
    assert_same_search(nb.load_run(out / tiny_figures.JOBS[0]), alone)


def test_the_job_of_a_retired_worker_finishes_on_another_worker(tmp_path, cluster, workers):
    """Retire workers as at the end of their --lifetime, before Slurm's time limit."""
    job = light_job(tmp_path, "one", stall=True)

    retired = []

    class Retire(Watcher):
        def tick(self, waiting):
            if waiting and not retired and len(read_lines(job.folder / METRICS)) == 2:
                retired.append(attempts(job)[0]["parent"])
                os.kill(retired[0], signal.SIGTERM)

    assert run_jobs([job], workers, Retire()) == {}
    first, second = attempts(job)
    assert [first["parent"]] == retired != [second["parent"]]
    assert len(read_lines(job.folder / METRICS)) == LINES


def test_leaving_a_cluster_stops_its_jobs(tmp_path, cluster):
    job = light_job(tmp_path, "one", stall=True)
    with dask_cluster(cluster.scheduler_address) as workers:
        workers.submit(job)
        wait_for_lines(job.folder, 2)
    wait_until_unlocked(job)
    assert len(attempts(job)) == 1


def test_a_lost_scheduler_is_reported_in_one_sentence(tmp_path, caplog):
    job = light_job(tmp_path, "one", stall=True)

    class Kill(Watcher):
        def tick(self, waiting):
            if waiting and len(read_lines(job.folder / METRICS)) == 2:
                processes.kill_scheduler()

    with dask_processes(tmp_path, 1) as processes, dask_cluster(processes.address) as workers:
        failures = run_jobs([job], workers, Kill())
    assert list(failures) == ["one"] and not missing(failures["one"], "the connection to its scheduler was lost")
    assert [record.message for record in caplog.records if record.name == "distributed.client"] == []


def wait_until_unlocked(job: Job) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            with locked(job.folder):
                return
        except nb.InvalidInputError:
            time.sleep(0.02)
    pytest.fail(f"a process still holds {job.folder} after two minutes: see {job.log}")


@pytest.mark.parametrize("is_copied", [True, False])
def test_the_result_of_a_worker_with_another_file_system_is_refused(tmp_path, workers, monkeypatch, is_copied):
    job = light_job(tmp_path / "here", "one")
    there = tmp_path / "there"
    if is_copied:
        job.write_token("of an earlier session")
        shutil.copytree(job.folder.parent, there)
    monkeypatch.setattr(workers, "_patience", 0.0)
    real = workers._submit

    def submit(run, seen, **needs):
        return real(run, replace(seen, folder=there / seen.name), **needs)

    monkeypatch.setattr(workers, "_submit", submit)
    failures = run_jobs([job], workers)
    host = socket.gethostname()
    assert failures == {
        "one": f"its worker on {host} does not see {there}, or sees a copy of it: workers and this "
        "command need the same file system"
    }
    assert not (there / "one").exists()
    assert not job.folder.exists()


def test_a_cluster_without_workers_is_reported_once_and_the_jobs_wait_for_a_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "REPORTS_AFTER", 0.2)
    monkeypatch.setattr(cluster_module, "LOOKS_EVERY", 0.05)
    printed, job = [], light_job(tmp_path, "one")
    with dask_workers(0) as empty, ThreadPoolExecutor(1) as thread:
        address = empty.scheduler_address
        with dask_cluster(address, print_line=printed.append) as workers:
            assert workers.count == 1
            failures = thread.submit(run_jobs, [job], workers)
            deadline = time.monotonic() + 60
            while not printed and time.monotonic() < deadline:
                time.sleep(0.02)
            empty.scale(1)
            assert failures.result(120) == {}
    [line] = printed
    assert line.endswith(f"dask worker {address}")
    assert job.is_finished


def test_user_errors_on_a_worker_are_passed_on_and_others_wrapped(workers):
    with refuses(nb.InvalidInputError, "'cpux'"):
        workers.call(resolve_device, "cpux")
    with refuses(nb.UserError, "ValueError:", "'x'"):
        workers.call(int, "x")


def test_a_worker_with_another_version_fails_with_both_versions(tmp_path, workers, monkeypatch):
    installed = nb.__version__
    monkeypatch.setattr(nb, "__version__", "0.0.7")  # of this command; the workers are other processes
    job = light_job(tmp_path, "one")
    [failure] = run_jobs([job], workers).values()
    assert not missing(failure, socket.gethostname(), installed, "0.0.7", "install the same version")
    assert not job.folder.exists()
    with refuses(nb.UserError, installed, "0.0.7"):
        workers.call(resolve_device, "cpu")


def test_a_worker_with_other_code_of_one_version_fails_with_advice(tmp_path, workers, monkeypatch):
    monkeypatch.setattr(cluster_module, "_run", partial(cluster_module._run, added=1))  # as of a later checkout
    [failure] = run_jobs([light_job(tmp_path, "one")], workers).values()
    assert not missing(failure, "TypeError", "'added'", "the same packages")


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "", "ftp://x", "tcp://127.0.0.1:99999"])
def test_waiting_for_an_unresponsive_scheduler_times_out(address):
    with refuses(nb.InvalidInputError, f"'{address}'", options="scheduler"), dask_cluster(address, connects_within=0.5):
        pass


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.0 400 Bad Request\r\n\r\n" * 10])
def test_a_server_that_is_silent_or_not_a_scheduler_is_refused(answer):
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as thread:
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        replied = thread.submit(reply, server, answer)
        with refuses(nb.InvalidInputError, f"'{address}'", options="scheduler"):
            dask_cluster(address, connects_within=1).__enter__()
        replied.result()


def reply(server: socket.socket, answer: bytes) -> None:
    with server.accept()[0] as connection, suppress(OSError):  # the client may have disconnected before
        connection.sendall(answer)
        while connection.recv(1000):
            pass


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The files of a certificate that is its own authority."""
    folder = tmp_path_factory.mktemp("tls")
    files = {"tls_ca_file": folder / "cert.pem", "tls_cert": folder / "cert.pem", "tls_key": folder / "key.pem"}
    key = ["-newkey", "rsa:2048", "-nodes", "-keyout", str(files["tls_key"])]
    subject = ["-subj", "/CN=localhost", "-days", "2", "-out", str(files["tls_cert"])]
    subprocess.run(["openssl", "req", "-x509", *key, *subject], check=True, capture_output=True)
    return {name: str(file) for name, file in files.items()}


def test_a_cluster_with_tls_is_used_only_with_the_certificate(tmp_path, certificate):
    ca, cert, key = certificate.values()
    roles = [{f"tls_{role}_cert": cert, f"tls_{role}_key": key} for role in ("scheduler", "worker", "client")]
    security = Security(tls_ca_file=ca, require_encryption=True, **roles[0], **roles[1], **roles[2])
    with dask_workers(1, security=security, protocol="tls://") as cluster:
        address = cluster.scheduler_address
        with WorkerOptions(scheduler=address, **certificate).open("cpu", 1, QUIET) as workers:
            assert run_jobs([light_job(tmp_path, "one")], workers) == {}
        with refuses(nb.InvalidInputError, address, options="scheduler"):
            dask_cluster(address, connects_within=2).__enter__()
        stranger = {**WorkerOptions(**certificate).tls, "tls_ca_file": str(tmp_path / "missing.pem")}
        with refuses(nb.InvalidInputError, "missing.pem"):
            dask_cluster(address, tls=stranger).__enter__()


def test_without_dask_the_command_explains_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.chdir(tmp_path)
    with exits(capsys, "--scheduler", "pip install -c constraints.txt '.[cluster]'"):
        cli.main(["reproduce", "figure12", "--scale", "quick", "--scheduler", "tcp://127.0.0.1:9"])
    assert list(tmp_path.iterdir()) == []
