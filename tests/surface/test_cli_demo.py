"""`memwell demo`: the tour runs, shows what it claims, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest

import memwell

from .conftest import Run


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_the_tour(script: Run, scratch: Path, store: str) -> None:
    ran = script("demo")

    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80
    for shown in (
        "{'dark': True}",
        "'leader' is at version 1, not absent",
        "('abc123', 'gone')",
        "fact.revert",
        "=> 200",
        "('Deployments happen on Thursdays', 'superseded')",
        "(0, 'ann')",
        "<memory note=",
        "(3, 'user', 'And who writes the notes?')",
        "(['We ship on Thursday.', 'And who writes the notes?'], 3)",
    ):
        assert shown in ran.out
    assert "Try next:" in ran.out
    assert list(scratch.iterdir()) == []
    assert not Path(store).exists()


def test_as_json_and_kept(script: Run) -> None:
    told = script("demo", "--json", "--keep").json
    results = [step["result"] for step in told["steps"]]

    assert len(results) == 16
    assert results[:3] == [{"dark": True}, ["'leader' is at version 1, not absent", "ann"], ["abc123", "gone"]]
    assert results[7] == 200
    assert results[9] == "Deployments happen on Tuesdays, once the tests are green"
    with memwell.open(told["store"]) as kept:
        assert kept.scope(agent="demo").get("counter") == 200


def test_a_kept_store_is_named(script: Run, scratch: Path) -> None:
    out = script("demo", "--keep").out

    assert str(next(scratch.glob("*/memory.db"))) in out
