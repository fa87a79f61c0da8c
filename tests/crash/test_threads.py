"""Many processes, one thread; and kill -9 while it grows: no number is missing or comes twice, no summary is torn."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.engine.spoken import fingerprint

from . import audit, speaker, talker
from .children import Child
from .scale import scaled, until_a_random_moment

PROCESSES, TIMES = 8, scaled(60, 500)
CYCLES, SPEAKERS = scaled(6, 100), 2
LONGEST_LIFE_S = 0.4


def begun(path: Path) -> Path:
    """A store with an empty thread."""
    with memwell.open(path) as store:
        store.scope(talker.SCOPE).threads.create(id=talker.THREAD)
    return path


@pytest.mark.campaign
def test_messages_of_many_processes_are_all_kept_in_order(tmp_path: Path, figure: Callable[[str], None]) -> None:
    path = begun(tmp_path / "memory.db")
    with ExitStack() as stack:
        children = [stack.enter_context(Child("talker", path, f"p{number}", TIMES)) for number in range(PROCESSES)]
        for child in children:
            child.expect("ready")
        for child in children:
            child.tell("go")
        longest = max(float(child.expect("appended")) for child in children)
        for child in children:
            child.finish()
    with memwell.open(path) as store:
        thread = store.scope(talker.SCOPE).threads.get(talker.THREAD)
        assert thread is not None
        messages = thread.messages(None)
        assert thread.count() == thread.info.last == PROCESSES * TIMES
    assert [message.seq for message in messages] == list(range(1, PROCESSES * TIMES + 1))
    said = defaultdict(list)
    for message in messages:
        said[message.by].append(message.content)
    assert said == {f"p{number}": [f"p{number} {time}" for time in range(TIMES)] for number in range(PROCESSES)}
    turns = sum(one.by != other.by for one, other in pairwise(messages))
    assert turns > PROCESSES, "they did not append at the same time"
    audit.assert_sound(path)
    figure(
        f"threads: {PROCESSES} processes x {TIMES} messages to one thread in {longest:.1f} s, {turns} changes of "
        "speaker: none lost, no number missing or twice, each in its own order"
    )


class Seen:
    """What a store shows after a kill, beside what the books say."""

    def __init__(self, store: memwell.Store, books: list[Path]) -> None:
        self.threads = store.scope(speaker.SCOPE).threads
        self.thread: Any = self.threads.get(speaker.THREAD)
        self.raw = self.thread.messages(None, raw=True)
        lines = [line.split() for book in books if book.exists() for line in book.read_text().splitlines()]
        self.told = {kind: {(name, at) for of, name, at in lines if of == kind} for kind in _KINDS}

    def messages(self) -> int:
        """Numbers without gap or repeat, all that was acknowledged, and batches whole."""
        assert [message.seq for message in self.raw] == list(range(1, len(self.raw) + 1))
        assert {(message.id, str(message.seq)) for message in self.raw} >= self.told["said"]
        batches: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for message in self.raw:
            what, _, name = message.content.rpartition(" ")
            batches[name].append((what, message.seq))
        for name, first in self.told["batch"]:
            assert ("0 of", int(first)) in batches[name]
        for said in batches.values():
            (word, _), *rest = said
            assert word == "one"
            assert [what for what, _ in rest] in ([], [f"{place} of" for place in range(speaker.BATCH)])
            assert not rest or rest[-1][1] - rest[0][1] == speaker.BATCH - 1
        return len(self.raw)

    def summaries(self, killed: int) -> int:
        """Each is whole: it says what it should of messages that are as they were; none that was told is absent."""
        overlays = self.thread.overlays()
        for overlay in overlays:
            below = self.raw[overlay.first - 1 : overlay.last]
            assert overlay.digest == fingerprint(below)
            assert overlay.content == f"sum of {below[0].content.rpartition(' ')[2]}"
        found = {(str(overlay.first), str(overlay.last)) for overlay in overlays}
        assert found >= self.told["covered"]
        assert len(found - self.told["covered"]) <= killed
        hidden = {seq for overlay in overlays for seq in range(overlay.first, overlay.last + 1)}
        shown = [message.covers or message.seq for message in self.thread.messages(None)]
        assert [seq for seq in shown if isinstance(seq, int)] == [
            message.seq for message in self.raw if message.seq not in hidden
        ]
        assert [each for each in shown if not isinstance(each, int)] == [(one.first, one.last) for one in overlays]
        return len(overlays)

    def forks(self, killed: int) -> int:
        """Each has all messages up to where it was made, and the summaries that lay within."""
        infos = [info for info in self.threads.list(limit=100_000) if info.id != speaker.THREAD]
        found = {(info.id, str(info.last)) for info in infos}
        assert found >= self.told["forked"]
        assert len(found - self.told["forked"]) <= killed
        for info in infos:
            assert info.forked_from == (speaker.THREAD, info.last)
            fork = self.threads.get(info.id)
            assert fork is not None
            copied = fork.messages(None, raw=True)
            assert [(one.seq, one.content) for one in copied] == [
                (one.seq, one.content) for one in self.raw[: info.last]
            ]
            assert {(one.first, one.content) for one in fork.overlays()} <= {
                (one.first, one.content) for one in self.thread.overlays() if one.last <= info.last
            }
        return len(infos)

    def again(self) -> None:
        """Who does not know whether a message arrived says it again, and it is there once."""
        ones = [message for message in self.raw if message.content.startswith("one ")]
        for message in ones[-5:]:
            assert self.thread.append("user", message.content, id=message.id) == message
        assert self.thread.count() == len(self.raw)
        hits = [hit for hit in self.thread.search("one", limit=1000) if hit.message in ones]
        assert len(hits) == len(ones) or len(ones) > 300  # the best come with what stands near them


_KINDS = ("said", "batch", "covered", "forked")


@pytest.mark.campaign
def test_a_thread_killed_at_any_moment_is_whole(
    tmp_path: Path, rng: random.Random, progress: Callable[[str], None], figure: Callable[[str], None]
) -> None:
    path = begun(tmp_path / "memory.db")
    books = [tmp_path / f"book{number}" for number in range(SPEAKERS)]
    found: Counter[str] = Counter()
    for cycle in range(CYCLES):
        with ExitStack() as stack:
            children = [stack.enter_context(Child("speaker", path, book)) for book in books]
            for child in children:
                child.expect("working")
            until_a_random_moment(rng, LONGEST_LIFE_S)
            for child in children:
                child.kill()
        copy = audit.as_after_a_crash(path, tmp_path / "copy")
        audit.assert_sound(copy)
        killed = SPEAKERS * (cycle + 1)
        with memwell.open(copy) as store:
            seen = Seen(store, books)
            found = Counter(messages=seen.messages(), summaries=seen.summaries(killed), forks=seen.forks(killed))
            seen.again()
            assert store.check().damage == []
        progress(f"cycle {cycle + 1} of {CYCLES}: {dict(found)}")
    assert min(found.values()) > CYCLES // 2
    figure(
        f"kill -9 in a thread: {CYCLES} cycles, {SPEAKERS} speakers: {found['messages']} messages in sequence, "
        f"{found['summaries']} summaries and {found['forks']} forks whole, nothing acknowledged lost"
    )
