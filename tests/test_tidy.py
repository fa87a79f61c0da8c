"""The house rules, as tests: layers, sizes, banned calls, no leftovers, generated files, types and format."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "memwell"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TEXTS = [
    path
    for folder in ("src", "tests", "docs", "bench", "scripts", ".ci")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".sql", ".toml", ""} and path.is_file()
]

# From the ground up; a module may import its own layer and those before it.
LAYERS = {
    "base": {
        "clock",
        "codec",
        "config",
        "embed",
        "errors",
        "forks",
        "ids",
        "ops",
        "parts",
        "pattern",
        "scope",
        "served",
        "types",
        "words",
    },
    "store": {"store"},
    "engine": {"engine"},
    "face": {
        "aio",
        "importing",
        "local",
        "local_async",
        "memory",
        "opening",
        "recall",
        "recall_async",
        "threads",
        "threads_async",
        "transcripts",
        "transfer",
    },
    "agent": {"agent"},
    "surface": {"cli"},
}
RANK = {name: rank for rank, names in enumerate(LAYERS.values()) for name in names}
UNRANKED = {"", "__init__", "testing"}  # the package itself gathers names; the shipped tests look everywhere

FILE_LINES, FUNCTION_LINES = 400, 60
BANNED = {
    r"\btime\.time\(": "clock.now",
    r"\bdatetime\.(now|utcnow)\(": "clock.now",
    r"\bpickle\b": "msgspec",
    r"\beval\(|\bexec\(": "nothing: caller text is never run",
    r"\bprint\(": "click.echo",
}
WORDS = r"\b(class|def) (\w*(Manager|Service|Helper|Impl)|Base\w+)\b"


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and first part below memwell of each import of ours."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.split(".")[0] == "memwell":
                yield node.lineno, [*name.split("."), ""][1]


def test_every_module_has_a_layer() -> None:
    """A new module must say where it belongs."""
    assert {part(path) for path in SOURCES} <= RANK.keys() | UNRANKED


def test_imports_point_down() -> None:
    """No module imports from a layer above its own."""
    bad = [
        f"{path.relative_to(ROOT)}:{line}: {part(path)} may not import {name}"
        for path in SOURCES
        if part(path) not in UNRANKED
        for line, name in imports(path)
        if name in RANK and RANK[name] > RANK[part(path)]
    ]

    assert not bad, "\n".join(bad)


def test_files_and_functions_stay_small() -> None:
    """A file that outgrows its limit is two files."""
    bad = []
    for path in [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]:
        text = path.read_text()
        if len(text.splitlines()) > FILE_LINES:
            bad.append(f"{path.relative_to(ROOT)} has {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LINES:
                    bad.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.name} has {length} lines")

    assert not bad, "\n".join(bad)


@pytest.mark.parametrize(("pattern", "instead"), BANNED.items())
def test_banned_calls(pattern: str, instead: str) -> None:
    """Each has a better way."""
    bad = [
        f"{path.relative_to(ROOT)}:{number}: use {instead}"
        for path in SOURCES
        if path.name != "clock.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]

    assert not bad, "\n".join(bad)


def test_no_leftovers_and_no_taxonomy() -> None:
    """Nothing is left for later, and a class is named for what it is."""
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "X" * 3, WORDS]))
    bad = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in TEXTS
        if path.suffix in {".py", ".sql"} and path.name != "test_tidy.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if marks.search(line)
    ]

    assert not bad, "\n".join(bad)


def test_pages_have_one_title() -> None:
    """A page is about one thing."""
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]:
        prose = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)

        assert len(re.findall(r"^# ", prose, flags=re.MULTILINE)) == 1, path


def test_few_public_names() -> None:
    """What `import memwell` shows is a decision: at most 25 names, each there."""
    import memwell

    assert len(memwell.__all__) <= 25
    assert memwell.__all__ == sorted(memwell.__all__)
    assert all(hasattr(memwell, name) for name in memwell.__all__)


@pytest.mark.parametrize(
    "command",
    [
        ["scripts/make_aio.py", "--check"],
        ["-m", "ruff", "check", "."],
        ["-m", "ruff", "format", "--check", "."],
        ["-m", "mypy"],
    ],
    ids=["generated", "lint", "format", "types"],
)
def test_tools_agree(command: list[str]) -> None:
    """The async face is what the sync one makes; lint, format and types are clean."""
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
