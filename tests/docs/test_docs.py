"""The docs are true: every block runs, every link leads somewhere, and everything public is in the reference."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell import aio, memory, ops, recall, recall_async, threads, threads_async
from memwell.agent.checkpoint import Saved
from memwell.agent.process import Context, Process
from memwell.config import Settings
from memwell.errors import ERRORS
from memwell.ops import Op
from memwell.scope import FIELDS
from memwell.types import (
    Damage,
    Entry,
    Event,
    Found,
    Health,
    Hit,
    Hits,
    Line,
    Loaded,
    Message,
    MessageHit,
    Overlay,
    Packed,
    Provenance,
    Receipt,
    Record,
    Stats,
    ThreadInfo,
    ToolCall,
)

from .pages import (
    PAGES,
    REFERENCE,
    ROOT,
    RUN,
    SHOWN,
    Block,
    blocks,
    broken,
    code_spans,
    environment,
    first_column,
    module_for,
    name,
    run_python,
    run_sh,
    titles,
    words_in_code,
)

REFERENCE_FOLDER = ROOT / "docs" / "reference"


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.runs for block in blocks(page))], ids=name)
def test_every_block_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, store = tmp_path / "work", tmp_path / "store"
    folder.mkdir()
    store.mkdir()
    monkeypatch.chdir(folder)
    module, variables = module_for(page), environment(store)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for variable in ("MEMWELL_STORE", "NO_COLOR"):
        monkeypatch.setenv(variable, variables[variable])
    for block in blocks(page):
        if block.runs and block.language == "python":
            run_python(block, page, module)
        elif block.runs:
            run_sh(block, folder, variables)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_has_one_title_and_links_that_lead_somewhere(page: Path) -> None:
    assert len(titles(page)) == 1
    assert list(broken(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_block_has_a_language_that_says_whether_it_runs(page: Path) -> None:
    assert {block.language for block in blocks(page)} <= {*RUN, *SHOWN}
    assert page.read_text().count("\n```") - page.read_text().startswith("```") == 2 * len(blocks(page))


def test_a_page_that_nobody_finds_is_not_there() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    lost = [name(page) for page in PAGES if page.parent != ROOT and page.name != "README.md"]
    lost = [page for page in lost if page.removeprefix("docs/") not in index and "/decisions/" not in page]
    assert lost == []


def test_the_backend_that_a_page_writes_passes_the_suite(tmp_path: Path) -> None:
    code = [block.text for block in blocks(ROOT / "docs/how-to/write-a-backend.md") if "class " in block.text]
    (tmp_path / "test_notebook.py").write_text("\n".join(code))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "test_notebook.py"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"^\d{3,} passed", ended.stdout, re.MULTILINE)


# The reference


def every_op() -> Iterator[type[Op[Any]]]:
    kinds = list(Op.__subclasses__())
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        if kind not in (ops.Listing, ops.OfRecord, ops.OfThread):
            yield kind


def test_every_op_is_in_the_reference_and_nothing_else() -> None:
    tags = sorted(str(op.__struct_config__.tag) for op in every_op())
    assert sorted(first_column(REFERENCE_FOLDER / "ops.md")) == tags


def test_every_field_of_an_op_stands_in_its_row() -> None:
    page = (REFERENCE_FOLDER / "ops.md").read_text()
    for op in every_op():
        row = re.search(rf"^\| `{op.__struct_config__.tag}` .*$", page, re.MULTILINE)
        assert row is not None
        assert f"`{op.domain}.{op.action}`" in row[0]
        assert [field for field in op.__struct_fields__ if f"`{field}`" not in row[0]] == []


def test_every_error_is_in_the_reference_and_nothing_else() -> None:
    page = REFERENCE_FOLDER / "errors.md"
    assert sorted(first_column(page)) == sorted(ERRORS)
    for code, error in ERRORS.items():
        row = re.search(rf"^\| `{code}` .*$", page.read_text(), re.MULTILINE)
        assert row is not None
        cells = [cell.strip() for cell in row[0].split("|")]
        assert f"`{error.__name__}`" in cells
        assert [str(error.exit_code), str(error.http_status), "yes" if error.retryable else "no"] == cells[3:6]


def test_every_setting_is_in_the_reference_with_its_default_and_nothing_else() -> None:
    page = REFERENCE_FOLDER / "settings.md"
    assert first_column(page) == [*Settings.__struct_fields__, "MEMWELL_STORE", "MEMWELL_AUTHOR", "MEMWELL_EMBEDDER"]
    for field, default in zip(Settings.__struct_fields__, Settings.__struct_defaults__, strict=True):
        assert re.search(rf"^\| `{field}` \| `{default!r}` \|", page.read_text(), re.MULTILINE)


@pytest.mark.parametrize("public", memwell.__all__)
def test_every_public_name_is_in_the_reference(public: str) -> None:
    assert {public, f"memwell.{public}"} & words_in_code(REFERENCE)


def signature(thing: Any) -> str:
    """How a function is called, without its types."""
    plain = inspect.signature(thing, eval_str=False)
    parameters = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in plain.parameters.values()]
    text = str(plain.replace(parameters=[p for p in parameters if p.name != "self"], return_annotation=plain.empty))
    return f"{thing.__name__}{text}"


def methods(kind: type) -> list[str]:
    return [signature(method) for name, method in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"]


CALLED = [
    *((memwell, call) for call in (signature(memwell.open), signature(memwell.open_async))),
    *((kind, call) for kind in (memory.Store, memory.Memory, memory.Batch, recall.Records) for call in methods(kind)),
    *((kind, call) for kind in (threads.Threads, threads.Thread) for call in methods(kind)),
    *((memwell.Kernel, call) for call in methods(memwell.Kernel)),
    (Process, "wait(timeout=None)"),
]


@pytest.mark.parametrize(("kind", "call"), CALLED, ids=lambda value: getattr(value, "__name__", value))
def test_every_method_is_in_the_reference_as_it_is_called(kind: Any, call: str) -> None:
    assert call in code_spans(REFERENCE)


def test_both_faces_are_called_alike() -> None:
    """One reference serves both."""
    for plain in (memory.Store, memory.Memory, memory.Batch):
        assert methods(plain) == methods(getattr(aio, f"Async{plain.__name__}"))
    assert methods(recall.Records) == methods(recall_async.AsyncRecords)
    for thread in (threads.Threads, threads.Thread):
        assert methods(thread) == methods(getattr(threads_async, f"Async{thread.__name__}"))


@pytest.mark.parametrize(
    "kind",
    [
        *(Entry, Event, Stats, Health, Damage, Loaded, Line, Saved, Record, Provenance, Hit, Hits, Packed, Receipt),
        *(ThreadInfo, Message, ToolCall, Found, MessageHit, Overlay, ops.NewMessage),
    ],
    ids=lambda kind: kind.__name__,
)
def test_every_field_of_an_answer_is_in_the_reference(kind: Any) -> None:
    words = words_in_code(REFERENCE)
    assert kind.__name__ in words
    assert set(kind.__struct_fields__) <= words


@pytest.mark.parametrize("kind", [Process, Context], ids=lambda kind: kind.__name__)
def test_what_a_process_shows_is_in_the_reference(kind: Any) -> None:
    internal = {"start", "join", "needs_this_loop"}
    public = {name for name in vars(kind) if name[0] != "_"} - internal
    assert public <= {word.split(".")[-1] for word in words_in_code(REFERENCE)}


def test_every_scope_field_is_in_the_reference_in_order() -> None:
    assert first_column(REFERENCE_FOLDER / "scopes-and-keys.md")[: len(FIELDS)] == list(FIELDS)


# The machinery of this test, which has to fail when a page lies


def block(language: str, text: str) -> Block:
    return Block(language, text, 1, runs=True)


@pytest.mark.parametrize("text", ["1 + 1  # => 3\n", "x = 1  # => 1\n", "1 / 0\n", "if True:\n    1  # => 2\n"])
def test_a_python_block_that_lies_fails(text: str) -> None:
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_python(block("python", text), PAGES[0], module_for(PAGES[0]))


@pytest.mark.parametrize(
    "text", ["false\ntrue\n", "$ echo a\nb\n", "$ exit 3\n", "$ echo ab\na\n", "$ true\n$ false\n"]
)
def test_a_sh_block_that_lies_fails(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run_sh(block("sh", text), tmp_path, environment(tmp_path))


def test_blocks_that_tell_the_truth_pass(tmp_path: Path) -> None:
    module = module_for(PAGES[0])
    run_python(block("python", "x = [1]\nfor y in x:\n    y + 1  # => 2\n"), PAGES[0], module)
    run_python(block("python", "(\n    x\n)  # => [1]\n"), PAGES[0], module)
    run_sh(block("sh", "$ echo at 12:30\nat …\n$ echo a \\\n  b\na b\n$ true\n"), tmp_path, environment(tmp_path))
