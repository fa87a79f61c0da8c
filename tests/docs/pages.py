"""Pages of the docs, taken apart: titles, links, code, tables; and how their blocks are run."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))

RUN = ("python", "sh", "console")
SHOWN = ("text", "json", "sql", "toml", "yaml")  # what a page may show without running it
EXPECTED = "# => "
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OPT_OUT = re.compile(r"<!-- not run: \S.* -->\n\Z")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|^\[[^\]]+\]:\s*(\S+)|(?:src|href)=\"([^\"]+)\"", re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")


class Block(NamedTuple):
    """A fenced block; `line` is where its text begins."""

    language: str
    text: str
    line: int
    runs: bool


def name(page: Path) -> str:
    """A page as tests call it."""
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[Block]:
    """Every fenced block of a page; it runs unless the line above it says why not."""
    text = page.read_text()
    return [
        Block(
            fence[1],
            fence[2],
            text.count("\n", 0, fence.start()) + 2,
            fence[1] in RUN and not _OPT_OUT.search(text[: fence.start()]),
        )
        for fence in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", page.read_text())


def titles(page: Path) -> list[str]:
    return re.findall(r"^# (.+)$", prose(page), re.MULTILINE)


def links(page: Path) -> list[str]:
    """The targets of links and images that lead to other files here, or to places in this page."""
    found = ("".join(groups) for groups in _LINK.findall(prose(page)))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """The names that the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(page: Path) -> Iterator[str]:
    """The links that lead nowhere."""
    for target in links(page):
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield target


def code_spans(pages: list[Path]) -> set[str]:
    """The text of every piece of inline code."""
    return {span for page in pages for span in _SPAN.findall(prose(page))}


def words_in_code(pages: list[Path]) -> set[str]:
    """Every name that stands in code, inline or fenced."""
    code = [*code_spans(pages), *(block.text for page in pages for block in blocks(page))]
    return {word for text in code for word in re.findall(r"[A-Za-z_][\w.]*", text)}


def first_column(page: Path) -> list[str]:
    """The code in the first cell of every row of a page's tables."""
    return re.findall(r"^\| *`([^`]+)`", prose(page), re.MULTILINE)


class _Expectations(ast.NodeTransformer):
    """Turns `expression  # => text` into a comparison of the expression's repr with the text."""

    def __init__(self, lines: list[str]) -> None:
        self._wanted = {number: line.split(EXPECTED)[1].strip() for number, line in _with_expectation(lines)}
        self.left = dict(self._wanted)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        wanted = self.left.pop(node.end_lineno or 0, None)
        if wanted is None:
            return self.generic_visit(node)
        check = ast.Name("__expect__", ast.Load())
        node.value = ast.Call(check, [node.value, ast.Constant(wanted)], [])
        return ast.fix_missing_locations(node)


def _with_expectation(lines: list[str]) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(lines, 1) if EXPECTED in line)


def _expect(got: object, wanted: str) -> None:
    assert repr(got) == wanted, f"the page says {wanted}, but it is {got!r}"


def run_python(block: Block, page: Path, module: ModuleType) -> None:
    """Run a block in a module that the blocks before it have filled."""
    tree = ast.parse(block.text)
    expectations = _Expectations(block.text.splitlines())
    tree = expectations.visit(tree)
    assert not expectations.left, f"{EXPECTED}stands after what is no expression: {expectations.left}"
    ast.increment_lineno(tree, block.line - 1)
    vars(module)["__expect__"] = _expect
    exec(compile(tree, str(page), "exec"), vars(module))


def run_sh(block: Block, folder: Path, environment: dict[str, str]) -> None:
    """Run a script; or, where lines begin with `$ `, each command, and compare what it prints with what is shown."""
    if not block.text.startswith("$ "):
        _shell("set -e\n" + block.text, folder, environment, must_succeed=True)
        return
    for session in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, shown = _parted(session)
        printed = _shell(command, folder, environment, must_succeed=not shown)
        if shown:
            fits = "\n".join(map(_line_pattern, _evened(shown).splitlines()))
            assert re.fullmatch(fits, _evened(printed).strip("\n")), (
                f"$ {command}\nshown:\n{shown}\nprinted:\n{printed}"
            )


def _parted(session: str) -> tuple[str, str]:
    """A command, which goes on after a backslash, and what is shown below it."""
    lines = session.splitlines()
    length = 1
    while lines[length - 1].endswith("\\"):
        length += 1
    return "\n".join(lines[:length]), "\n".join(lines[length:]).strip("\n")


def _evened(text: str) -> str:
    """The width of a column depends on who runs it."""
    return re.sub(" +", " ", text)


def _line_pattern(line: str) -> str:
    """`…` stands for anything within a line; alone on a line, for any lines."""
    return "(?s:.*)" if line == "…" else ".*".join(map(re.escape, line.split("…")))


def _shell(script: str, folder: Path, environment: dict[str, str], must_succeed: bool) -> str:
    ended = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    assert not must_succeed or ended.returncode == 0, f"$ {script}\nexit {ended.returncode}:\n{ended.stdout}"
    return ended.stdout


def environment(folder: Path) -> dict[str, str]:
    """Where `memwell` is on the path and uses a scratch store."""
    here = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": os.pathsep.join([here, os.environ["PATH"]]),
        "MEMWELL_STORE": str(folder / "memory.db"),
        "NO_COLOR": "1",
    }


def module_for(page: Path) -> Any:
    """A module for a page's code; models defined in it find their own names there."""
    return ModuleType(f"page_{page.stem.replace('-', '_')}")
