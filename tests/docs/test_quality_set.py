"""The labelled set for search quality is sound, and its metrics give what a hand computes."""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from memwell.errors import Invalid

from .pages import ROOT

sys.path.insert(0, str(ROOT))  # `pytest` alone doesn't look in the working folder, as `python -m pytest` does

from bench.quality.data import HERE, STYLES, Conversation, conversations, questions, records
from bench.quality.metrics import (
    means,
    ndcg,
    ndcg_at_10,
    recall,
    recall_at_5,
    recall_at_10,
    reciprocal_rank,
)

FILES = sorted(HERE.glob("conversations_*.jsonl"))
TURNS, QUESTIONS = (2_000, 300) if len(FILES) > 1 else (1_080, 180)


@pytest.fixture(scope="module")
def found() -> tuple[Conversation, ...]:
    return conversations()


def test_the_set_is_large_enough(found: tuple[Conversation, ...]) -> None:
    """Enough records to get lost in, and enough questions for a stable mean."""
    assert len(list(records(found))) >= TURNS
    assert len(list(questions(found))) >= QUESTIONS


def test_conversations_are_long_and_asked_about(found: tuple[Conversation, ...]) -> None:
    """Each has many turns between two people over several sessions, and at least four questions."""
    for conversation in found:
        assert len(conversation.turns) >= 20, conversation.id
        assert len({turn.speaker for turn in conversation.turns}) >= 2, conversation.id
        assert len({turn.session for turn in conversation.turns}) >= 2, conversation.id
        assert len(conversation.questions) >= 4, conversation.id


def test_turns_and_questions_are_short(found: tuple[Conversation, ...]) -> None:
    """As people write them in a chat."""
    long = [turn.id for turn in records(found) if not 3 <= len(turn.text.split()) <= 40]
    long += [item.id for item in questions(found) if not 3 <= len(item.question.split()) <= 16]

    assert not long


def test_nothing_is_there_twice(found: tuple[Conversation, ...]) -> None:
    """A question asked twice would weigh double; a turn said twice would be an answer without a label."""
    asked = Counter(item.question.casefold() for item in questions(found))
    said = Counter(turn.text.casefold() for turn in records(found) if len(turn.text.split()) > 5)

    assert [text for text, count in (asked | said).items() if count > 1] == []


def test_questions_are_of_every_style(found: tuple[Conversation, ...]) -> None:
    """No style is rare, and many questions have more than one answer."""
    asked = list(questions(found))
    styles = Counter(item.style for item in asked)

    assert all(styles[style] >= len(asked) / 10 for style in STYLES)
    assert sum(len(item.answers) > 1 for item in asked) >= len(asked) / 4
    assert max(len(item.answers) for item in asked) <= 5


def turn(number: int, **change: Any) -> dict[str, Any]:
    return {"id": f"t{number}", "speaker": "Ada", "session": 1, "date": "2025-01-02", "text": "I moved", **change}


def question(**change: Any) -> dict[str, Any]:
    return {"id": "q1", "question": "Who moved?", "answers": ["t1"], "style": "words", **change}


def saved(folder: Path, *items: Any) -> Path:
    """A set of these turns and questions."""
    kinds: dict[str, list[Any]] = {"turns": [], "questions": []}
    for item in items:
        kinds["questions" if "question" in item else "turns"].append(item)
    (folder / "conversations_x.jsonl").write_text(json.dumps({"conversation": "c1", **kinds}) + "\n")
    return folder


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ((turn(1), turn(1), question()), "t1: the id is used 2 times"),
        ((turn(1), question(), question()), "q1: the id is used 2 times"),
        ((turn(1), question(answers=["t2"])), "no turn t2"),
        ((turn(1), question(answers=[])), "needs a text and an answer"),
        ((turn(1), question(answers=["t1", "t1"])), "names an answer twice"),
        ((turn(1), question(style="hard")), "unknown style 'hard'"),
        ((turn(1), turn(2, date="2025-01-01")), "not in order"),
        ((turn(1, session=2), turn(2, session=1)), "not in order"),
        ((turn(1, date="soon"),), "conversations_x.jsonl:1: not a conversation"),
        ((turn(1, mood="good"),), "conversations_x.jsonl:1: not a conversation"),
        ((turn(1, text=""),), "t1: no text or speaker"),
    ],
)
def test_a_bad_set_is_refused(tmp_path: Path, items: tuple[Any, ...], says: str) -> None:
    """By name and place, before anything is measured with it."""
    with pytest.raises(Invalid, match=says):
        conversations(saved(tmp_path, *items))


def test_ids_are_unique_across_files(tmp_path: Path) -> None:
    """Two files that were written apart can't share a name."""
    saved(tmp_path, turn(1), question())
    (tmp_path / "conversations_y.jsonl").write_text((tmp_path / "conversations_x.jsonl").read_text())

    with pytest.raises(Invalid, match="c1: the id is used 2 times"):
        conversations(tmp_path)


def test_a_good_set_comes_back(tmp_path: Path) -> None:
    """Turns and questions as they were written."""
    (conversation,) = conversations(saved(tmp_path, turn(1), turn(2), question(answers=["t1", "t2"])))

    assert [item.id for item in conversation.turns] == ["t1", "t2"]
    assert conversation.turns[0].date.isoformat() == "2025-01-02"
    assert conversation.questions[0].answers == {"t1", "t2"}


RANKED = list("abcdefghijkl")


def test_recall() -> None:
    """Of four answers, at ranks 2, 5, 10 and 11: two within five, three within ten."""
    answers = {"b", "e", "j", "k"}

    assert recall_at_5(RANKED, answers) == 2 / 4
    assert recall_at_10(RANKED, answers) == 3 / 4
    assert recall(RANKED, answers, 1) == 0
    assert recall([], answers, 5) == 0


def test_ndcg() -> None:
    """Ranks 2 and 4 of two answers: (1/log2 3 + 1/log2 5) / (1/log2 2 + 1/log2 3) = 0.6509."""
    by_hand = (0.63093 + 0.43068) / (1 + 0.63093)

    assert ndcg_at_10(RANKED, {"b", "d"}) == pytest.approx(by_hand, abs=1e-4)
    assert ndcg_at_10(RANKED, {"a", "b"}) == 1
    assert ndcg_at_10(RANKED, {"k"}) == 0
    assert ndcg(RANKED, {"a", "b", "c"}, 2) == 1  # no ranking of two could do better
    assert ndcg_at_10(RANKED, {"a", "z"}) == pytest.approx(1 / (1 + 1 / math.log2(3)))


def test_reciprocal_rank() -> None:
    """Only the first answer counts, however far down."""
    assert reciprocal_rank(RANKED, {"d", "f"}) == 1 / 4
    assert reciprocal_rank(RANKED, {"l"}) == 1 / 12
    assert reciprocal_rank(RANKED, {"z"}) == 0


def test_an_id_listed_twice_counts_once() -> None:
    """A ranking can't win by repeating itself."""
    assert recall_at_5(["a", "a", "a"], {"a", "b"}) == 1 / 2
    assert ndcg_at_10(["a", "a"], {"a"}) == 1


def test_means() -> None:
    """Each metric over all questions: one found first, one at rank 6."""
    assert means([(RANKED, {"a"}), (RANKED, {"f"})]) == pytest.approx(
        {"recall@5": 0.5, "recall@10": 1.0, "nDCG@10": (1 + 1 / math.log2(7)) / 2, "MRR": (1 + 1 / 6) / 2}
    )


def test_a_question_without_answers_has_no_score() -> None:
    """It would pass for a bad ranking."""
    for metric in (recall_at_5, ndcg_at_10, reciprocal_rank):
        with pytest.raises(Invalid, match="at least one answer"):
            metric(RANKED, set())
