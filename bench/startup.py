"""What Memwell costs before it does anything: the CPU to import it, and the size of an installation."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

from bench.lab import Lab
from bench.report import Report, Target

ROOT = Path(__file__).resolve().parent.parent
_NOT_OURS = {"pip", "setuptools", "wheel"}


def startup(lab: Lab, report: Report) -> None:
    """Install without extras into an empty environment, and measure there."""
    home = lab.folder / "venv"
    python = str(home / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", str(ROOT)], check=True)
    commands = {
        "python": [python, "-c", "pass"],
        "import": [python, "-c", "import memwell"],
        "version": [str(home / "bin" / "memwell"), "--version"],
    }
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(1 + lab.scale.starts):
        for name, command in commands.items():
            cpu[name].append(_child_cpu_ms(command))
    medians = {name: statistics.median(times[1:]) for name, times in cpu.items()}
    report.notes.append(f"an interpreter that starts and ends takes {medians['python']:.0f} ms of CPU")
    installed = [found for found in distributions(path=[_site(home)]) if found.name not in _NOT_OURS]
    report.targets += [
        Target("import memwell, with the interpreter's own start", medians["import"], 60, unit=" ms", clock="CPU"),
        Target("memwell --version", medians["version"], 100, unit=" ms", clock="CPU"),
        Target("distributions of a base install", len(installed), 10, unit=""),
        Target("size of a base install", sum(map(_megabytes, installed)), 25, unit=" MB"),
    ]


def _child_cpu_ms(command: list[str]) -> float:
    """User and system time of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def _site(home: Path) -> str:
    return str(next(home.glob("lib/python*/site-packages")))


def _megabytes(distribution: Distribution) -> float:
    """All that the distribution put on the disk, compiled files included."""
    paths = {Path(str(distribution.locate_file(file))).resolve() for file in distribution.files or ()}
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6
