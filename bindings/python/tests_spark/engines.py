"""The engines that run the tests: Spark in this process, a Spark cluster on this machine, and Sail."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

LOCAL = "127.0.0.1"


@contextmanager
def session(engine, folder):
    """A session, and the workers that can be killed."""
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": LOCAL}
    if engine == "sail":
        with sail() as spark:
            yield spark, []
    elif engine == "local":
        with spark_at("local[2]") as spark:
            yield spark, []
    else:
        with cluster(folder) as (master, workers), spark_at(master) as spark:
            yield spark, workers


@contextmanager
def sail():
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer(port=0)
    server.start(background=True)
    spark = SparkSession.builder.remote(f"sc://{LOCAL}:{server.listening_address[1]}").getOrCreate()
    yield spark
    spark.stop()
    server.stop()


@contextmanager
def spark_at(master):
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false", "spark.driver.host": LOCAL, "spark.driver.bindAddress": LOCAL,
        "spark.sql.shuffle.partitions": "4", "spark.executor.memory": "512m", "spark.log.level": "ERROR",
        "spark.driver.memory": "4g",  # tests collect whole results
        "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
    }
    builder = SparkSession.builder.master(master)
    for name, value in options.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    yield spark
    spark.stop()


@contextmanager
def cluster(folder):
    """A master and two workers with one processor each, as processes of this machine."""
    port, started = free_port(), []
    try:
        started.append(daemon(folder, "master", "master.Master", "--port", port, "--webui-port", 0))
        wait_for(lambda: is_open(port), "the master")
        workers = [daemon(folder, f"worker{i}", "worker.Worker", "--cores", 1, "--memory", "700m", "--webui-port", 0,
                          "--work-dir", folder / f"work{i}", f"spark://{LOCAL}:{port}") for i in range(2)]
        started += workers
        for i in range(2):
            wait_for(lambda: "Successfully registered" in (folder / f"worker{i}.log").read_text(), f"worker {i}")
        yield f"spark://{LOCAL}:{port}", workers
    finally:
        for process in reversed(started):
            stop(process, signal.SIGTERM)


def daemon(folder, name, main, *arguments):
    """Starts a part of the cluster, with a process group of its own."""
    import pyspark

    home = Path(pyspark.__file__).parent
    command = [home / "bin/spark-class", f"org.apache.spark.deploy.{main}", "--host", LOCAL, *arguments]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "256m"}
    with open(folder / f"{name}.log", "w") as log:
        return subprocess.Popen([str(part) for part in command], stdout=log, stderr=log, start_new_session=True,
                                env=environment)


def stop(process, how):
    """Ends a part of the cluster with all that it has started."""
    if process.poll() is None:
        os.killpg(process.pid, how)
        process.wait(timeout=60)


def kill(worker):
    """Takes a worker away: its executor and the interpreters of the executor end at once."""
    stop(worker, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind((LOCAL, 0))
        return probe.getsockname()[1]


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex((LOCAL, port)) == 0


def wait_for(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"{what} has not come up within {seconds} seconds"
        time.sleep(0.2)
