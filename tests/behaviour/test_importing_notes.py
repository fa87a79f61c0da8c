"""Notes as records: what a folder of Markdown becomes, and what of it is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memwell
from memwell import importing
from memwell.importing.front import parted
from memwell.testing import promise

from .test_importing import reasons, told


@pytest.fixture
def mem():
    with memwell.open(":memory:", by="ann", trust="human") as store:
        yield store.scope(agent="support")


def note(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@promise("import:markdown")
def test_a_short_note_is_one_record(mem, tmp_path):
    note(tmp_path, "b/tea.md", "# Tea\n\nAnn likes it green.\n\n## When\n\nAt four.\n")
    note(tmp_path, "a.MD", "plain words")
    note(tmp_path, "c.txt", "no note")
    done = importing.load(mem, tmp_path)

    assert (done.format, done.read, done.written, done.skipped) == ("markdown", 2, 2, [])
    assert told(mem) == [("Tea", "Ann likes it green.\n\n## When\n\nAt four."), ("a", "plain words")]
    assert mem.search("green")[0].record.provenance.sources == ["file:b/tea.md"]
    assert mem.search("green")[0].record.provenance.trust == "human"
    assert importing.load(mem, tmp_path).repeated == 2


@promise("import:markdown")
def test_a_long_note_is_a_record_a_section(mem, tmp_path):
    long = "words " * 300
    note(
        tmp_path,
        "r.md",
        f"# Release\n\nIntro.\n\n## Steps ##\n\n{long}\n```\n## no\n# no\n```\n\n## Undo\nGo back.\n## Later\n",
    )
    done = importing.load(mem, tmp_path / "r.md")

    assert [title for title, _ in told(mem)] == ["Release", "Release: Steps", "Release: Undo"]
    assert reasons(done) == {"r.md:15": "nothing stands below 'Later'"}
    assert "```\n## no\n# no\n```" in dict(told(mem))["Release: Steps"]


@promise("import:front")
def test_front_matter(mem, tmp_path):
    front = (
        "---\ntitle: 'Tea: green'\nkind: profile\ntags:\n  - drink\n  - '#hot'\nauthor: ann\n# said\nrating: {a: 1}\n"
    )
    note(tmp_path, "t.md", f"{front}deep:\n  b: 2\n---\n# Other\nAnn likes it.\n")
    done = importing.load(mem, tmp_path)
    record = mem.records.list()[0]

    assert (record.title, record.kind, record.tags) == ("Tea: green", "profile", ["drink", "hot"])
    assert (record.content, record.metadata) == ("Ann likes it.", {"author": "ann"})
    assert set(reasons(done)) == {"t.md:9", "t.md:11"}


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("tags: [a, b]", ["a", "b"]),
        ('tags: ["a b", #c]', ["a b", "c"]),
        ("tags: a, b", ["a", "b"]),
        ("tags: a", ["a"]),
        ("tags:", []),
        ("tags: []", []),
        ("tags:\n- a\n- b", ["a", "b"]),
    ],
)
@promise("import:front")
def test_tags_of_front_matter(text, tags):
    front, body, line = parted(f"---\n{text}\n---\nbody")
    assert (front.tags, body, front.left_out) == (tags, "body", [])
    assert line == text.count("\n") + 4


@promise("import:front")
def test_what_only_looks_like_front_matter_is_text():
    for text in ("---\nno end", "--- \n\nrule", "text\n---\na: b\n---\n", ""):
        assert parted(text)[1:] == (text, 1)


@promise("import:outside")
def test_links_that_lead_outside_are_not_followed_and_said(mem, tmp_path):
    inside, outside = tmp_path / "notes", tmp_path / "elsewhere"
    note(inside, "own.md", "my own")
    note(inside, "sub/x.md", "of the folder")
    note(outside, "secret.md", "the password")
    note(inside, ".trash/old.md", "thrown away")
    (inside / "leak.md").symlink_to(outside / "secret.md")
    (inside / "leaks").symlink_to(outside)
    (inside / "loop").symlink_to(inside)
    (inside / "same.md").symlink_to(inside / "own.md")
    (inside / "broken.md").symlink_to(inside / "nothing.md")
    done = importing.load(mem, inside)

    assert "the password" not in str(told(mem))
    assert "thrown away" not in str(told(mem))
    assert reasons(done) | {} == {
        ".trash": "the folder is hidden",
        "leak.md": "it is a link that leads outside the folder",
        "leaks": "it is a link that leads outside the folder",
        "loop": "it is a link to a folder that is read at its own place",
        "broken.md": "it is not a file",
    }


@promise("import:named")
def test_notes_that_can_not_be_read_are_named(mem, tmp_path):
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    note(tmp_path, "empty.md", " \n")
    note(tmp_path, "huge.md", "x" * (1024 * 1024 + 1))
    note(tmp_path, "kind.md", f"---\nkind: {'k' * 200}\n---\ntext")
    note(tmp_path, "ok.md", "\ufeff# Fine\nkept")
    done = importing.load(mem, tmp_path)

    assert told(mem) == [("Fine", "kept")]
    assert {one.where: one.bad for one in done.skipped} == {
        "latin.md": True, "empty.md": False, "huge.md:1": True, "kind.md:4": True,
    }  # fmt: skip


@promise("import:named")
@given(text=st.text(max_size=400))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_any_text_is_a_note_or_is_named(tmp_path, text):
    (tmp_path / "n.md").write_bytes(text.encode(errors="replace"))
    with memwell.open(":memory:") as store:
        done = importing.load(store.shared(), tmp_path / "n.md")
        again = importing.load(store.shared(), tmp_path / "n.md")

        assert done.written + len(done.skipped) >= 1
        assert again.written == 0
        assert done.written == len(store.shared().records.list())


@promise("import:named")
def test_a_file_whose_name_is_no_text_is_read_and_named(mem, tmp_path):
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("kept")
    (tmp_path / os.fsdecode(b"th\xe9.md")).write_bytes(b"\xff")
    done = importing.load(mem, tmp_path)

    assert [one.where for one in done.skipped] == ["th\\udce9.md"]
    assert mem.search("kept")[0].record.provenance.sources == ["file:caf\\udce9.md"]


@promise("import:markdown")
def test_only_a_newline_ends_a_line(mem, tmp_path):
    (tmp_path / "n.md").write_text("one\u2028two\x0cthree")
    importing.load(mem, tmp_path)
    assert mem.records.list()[0].content == "one\u2028two\x0cthree"
