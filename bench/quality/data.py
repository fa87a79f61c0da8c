"""The labelled set: conversations of many turns, and questions with the turns that answer them. Read, and checked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

from memwell.errors import Invalid

HERE = Path(__file__).resolve().parent
STYLES = ("words", "paraphrase", "indirect", "temporal")


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said: one record of the memory."""

    id: str
    conversation: str
    speaker: str
    session: int
    date: date
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked later, and the ids of all turns that answer it."""

    id: str
    conversation: str
    question: str
    answers: frozenset[str]
    style: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns in their order, and the questions about them."""

    id: str
    turns: tuple[Turn, ...]
    questions: tuple[Question, ...]


def conversations(folder: Path = HERE) -> tuple[Conversation, ...]:
    """All of `conversations_*.jsonl`; a set that is not sound is an error that lists what is wrong."""
    found = tuple(chain.from_iterable(map(_read, sorted(folder.glob("conversations_*.jsonl")))))
    if wrong := list(problems(found)):
        raise Invalid("the labelled set is not sound: " + "; ".join(wrong), hint="correct these lines of the files")
    return found


def records(found: Iterable[Conversation]) -> Iterator[Turn]:
    """Every turn, in order."""
    return chain.from_iterable(conversation.turns for conversation in found)


def questions(found: Iterable[Conversation]) -> Iterator[Question]:
    """Every question, in order."""
    return chain.from_iterable(conversation.questions for conversation in found)


def problems(found: Iterable[Conversation]) -> Iterator[str]:
    """What is wrong with a set, one line each."""
    found = tuple(found)
    ids = [conversation.id for conversation in found]
    ids += [turn.id for turn in records(found)] + [question.id for question in questions(found)]
    yield from (f"{name}: the id is used {count} times" for name, count in Counter(ids).items() if count > 1)
    for conversation in found:
        yield from _order(conversation)
        known = {turn.id for turn in conversation.turns}
        for question in conversation.questions:
            yield from _labels(question, known)


def _order(conversation: Conversation) -> Iterator[str]:
    """A session has one date, and neither sessions nor dates go back."""
    when = [(turn.session, turn.date) for turn in conversation.turns]
    if when != sorted(when) or len(dict(when)) != len(set(when)):
        yield f"{conversation.id}: sessions and dates are not in order"
    yield from (f"{turn.id}: no text or speaker" for turn in conversation.turns if not (turn.text and turn.speaker))


def _labels(question: Question, known: set[str]) -> Iterator[str]:
    if question.style not in STYLES:
        yield f"{question.id}: unknown style {question.style!r}"
    if not question.answers or not question.question:
        yield f"{question.id}: a question needs a text and an answer"
    yield from (f"{question.id}: no turn {name} in its conversation" for name in sorted(question.answers - known))


def _read(path: Path) -> Iterator[Conversation]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield _conversation(json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            raise Invalid(
                f"{path.name}:{number}: not a conversation: {error!r}", hint="compare its neighbours"
            ) from error


def _conversation(raw: dict[str, Any]) -> Conversation:
    name = raw["conversation"]
    turns = (Turn(conversation=name, **{**turn, "date": date.fromisoformat(turn["date"])}) for turn in raw["turns"])
    asked = (Question(conversation=name, **{**item, "answers": _answers(item)}) for item in raw["questions"])
    return Conversation(name, tuple(turns), tuple(asked))


def _answers(item: dict[str, Any]) -> frozenset[str]:
    """As a set; a turn named twice is a slip of the labeller."""
    answers = frozenset(item["answers"])
    if len(answers) != len(item["answers"]):
        raise Invalid(f"{item['id']} names an answer twice", hint="name each turn once")
    return answers
