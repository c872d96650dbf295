"""Java programs: Kafka's own tools by class name, and the small clients in ``java/`` by source file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from recorder.jars import classpath
from recorder.python_clients import WORK

SOURCES = Path(__file__).resolve().parent / "java"
HEAP = "-Xmx256m"
# Two cores are shared by all nodes: the optimising compiler would take more than it gives.
FAST_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_FEW_MESSAGES = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"


class ToolFailed(Exception):
    """A Java program that had to succeed did not; with what it printed."""


def compiled(jars: str, *sources: str) -> str:
    """Compile source files of ``java/`` against a set of jars; returns a class path with both.

    Raises:
        ToolFailed: they do not compile.
    """
    target = WORK / "classes" / jars
    target.mkdir(parents=True, exist_ok=True)
    files = [str(SOURCES / f"{source}.java") for source in sources]
    command = ["javac", "-d", str(target), "-cp", classpath(jars), *files]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise ToolFailed(result.stderr.strip())
    return f"{target}:{classpath(jars)}"


def run_tool(
    jars: str,
    main_class: str,
    *arguments: str,
    stdin: str | None = None,
    path: str | None = None,
    options: tuple[str, ...] = (),
    timeout: float = 120,
    check: bool = False,
) -> str:
    """Run a main class to its end and return what it printed.

    Args:
        jars: the set of jars.
        main_class: for example ``kafka.tools.ConsoleProducer``.
        arguments: of the program.
        stdin: its standard input.
        path: a class path instead of the set's own.
        options: more options for the Java machine.
        timeout: in seconds; a tool that does not end by then is ended.
        check: whether the program must succeed.

    Raises:
        ToolFailed: ``check`` is set and the program failed.
    """
    command = ["java", HEAP, *FAST_START, _FEW_MESSAGES, *options, "-cp", path or classpath(jars), main_class, *arguments]
    try:
        result = subprocess.run(
            command,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"(ended after {timeout:.0f} s)"
    if check and result.returncode != 0:
        raise ToolFailed(f"{main_class} {' '.join(arguments)}: {result.stdout.strip()}")
    return result.stdout
