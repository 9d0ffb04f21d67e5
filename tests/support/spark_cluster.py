"""A Spark cluster on this machine for tests: a master and workers, each a process of its own."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from cases import COMPILED

from sureline import TextClassifier

PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
POOL = "ignore:unclosed running multiprocessing pool:ResourceWarning"  # CrossValidator leaves one
SOCKET = "ignore:unclosed <socket.socket:ResourceWarning"  # Spark 4.0 leaves some, for a while
# For processes that live a minute on small data: compile little, collect garbage on one thread.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
WAIT = 600.0  # seconds until a process that does not start is given up


def java():
    """The Java program, or None if there is none or it is older than 17."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if found is None:
        return None
    shown = subprocess.run([found, "-version"], capture_output=True, text=True, check=False)
    version = re.search(r'version "(\d+)', shown.stderr)
    return found if version and int(version[1]) >= 17 else None


def why_not():
    """Why Spark cannot run here, as a sentence; empty if it can."""
    if find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'sureline[spark]'"
    if not COMPILED:
        return "nothing is compiled in this run, and a cluster of such processes takes very long"
    if java() is None:
        return "Spark needs Java 17 or newer, and there is none on the PATH or in JAVA_HOME"
    return ""


def needs_spark():
    """Marks for a module that runs Spark: all such tests go to one process."""
    reason = why_not()
    return [
        pytest.mark.skipif(bool(reason), reason=reason),
        pytest.mark.xdist_group("spark"),
        pytest.mark.filterwarnings(PANDAS),
        pytest.mark.filterwarnings(POOL),
        pytest.mark.filterwarnings(SOCKET),
    ]


def environment(folder):
    """The environment of Spark's processes; what they leave lies in `folder`."""
    return {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
        "SPARK_WORKER_DIR": str(folder / "work"),
    }


def compile_before():
    """Compile what the tests use, once, so that not every executor has to."""
    for labels in (["a", "b"], ["a", "b", "c"]):
        texts = ["x y", "z", "x"][: len(labels)]
        TextClassifier().partial_fit(texts, labels).predict_proba(["x"])


def children(pid):
    """The processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in task.read_text().split()]
    return found


def executors(pid):
    """The executors that a worker has started; for a moment it may have other children, too."""
    found = []
    for child in children(pid):
        with contextlib.suppress(FileNotFoundError):
            if "CoarseGrainedExecutorBackend" in Path(f"/proc/{child}/cmdline").read_text():
                found.append(child)
    return found


class Cluster:
    """A master and workers; `stop` ends all that were started."""

    def __init__(self, folder):
        import pyspark

        self.folder = folder
        self._program = Path(pyspark.__path__[0]) / "bin" / "spark-class"
        self._started = []
        self.url = self._start_master()

    def _run(self, name, *arguments):
        log = self.folder / f"{name}-{len(self._started)}.log"
        with log.open("w") as out:
            process = subprocess.Popen(
                [str(self._program), *arguments],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=environment(self.folder),
            )
        self._started.append(process)
        return process, log

    def _wait(self, process, log, pattern):
        end = time.monotonic() + WAIT
        while time.monotonic() < end and process.poll() is None:
            found = re.search(pattern, log.read_text())
            if found:
                return found
            time.sleep(0.1)
        raise RuntimeError(f"a Spark process did not start:\n{log.read_text()[-2000:]}")

    def _start_master(self):
        process, log = self._run(
            "master",
            "org.apache.spark.deploy.master.Master",
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
        )
        return self._wait(process, log, r"Starting Spark master at (spark://[\d.:]+)")[1]

    def start_worker(self):
        """Start a worker with one core."""
        process, log = self._run(
            "worker",
            "org.apache.spark.deploy.worker.Worker",
            *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            *("--cores", "1", "--memory", "1g", self.url),
        )
        self._wait(process, log, r"Successfully registered with master")
        return process

    def stop(self):
        """End all processes that are left, workers first."""
        for process in reversed(self._started):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self._started:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def session(master, folder):
    """A Spark session with settings for small data."""
    from pyspark.sql import SparkSession

    os.environ.update(environment(folder))
    settings = {
        "spark.driver.extraJavaOptions": QUICK,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.extraJavaOptions": QUICK,
        "spark.executor.memory": "512m",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master).appName("sureline")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


@contextlib.contextmanager
def local_session(master, folder):
    """A session that leaves the environment as it was."""
    before = dict(os.environ)
    made = session(master, folder)
    try:
        yield made
    finally:
        made.stop()
        os.environ.clear()
        os.environ.update(before)
