"""How a chat model behind HTTP is asked; keys, timeouts and refusals are those of the embedder's requests."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec

from memwell.embed.http import Http
from memwell.errors import Invalid, Unavailable

_SPEC = re.compile(r"openai:(?P<model>[^\s@]\S*?|@\S+?)(?:@(?P<base>[a-z]+://.*))?", re.IGNORECASE)
_OPENAI = "https://api.openai.com/v1"
_ATTEMPTS, _PAUSE, _LONGEST_PAUSE, _TIMEOUT = 4, 0.5, 20.0, 120.0


class _Said(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Said


class _Answer(msgspec.Struct):
    choices: list[_Choice]


class Chat(Http):
    """A chat model behind a server. Threads may share it."""

    def __init__(self, model: str, base_url: str) -> None:
        super().__init__(model, base_url, timeout=_TIMEOUT)
        self._url = self._url.removesuffix("/embeddings") + "/chat/completions"
        self._chat_model, self._chat_host = model, urlsplit(self._url).netloc

    def ask(self, instructions: str, text: str) -> str:
        """What the model answers; empty if it says nothing."""
        said = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        answer = self._tried(msgspec.json.encode({"model": self._chat_model, "messages": said}))
        try:
            choices = msgspec.json.decode(answer, type=_Answer).choices
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            hint = "see that the base URL is that of an OpenAI-compatible API, often ending in /v1"
            raise Unavailable(f"the chat server {self._chat_host} answered with something else", hint=hint) from None
        return (choices[0].message.content or "") if choices else ""

    def _tried(self, body: bytes) -> bytes:
        """The answer; a passing failure is tried again, a few times, at growing random distances."""
        for attempt in range(1, _ATTEMPTS + 1):
            answer: Any = self._once(body)
            if isinstance(answer, bytes):
                return answer
            pause = _PAUSE * 2**attempt * random.uniform(0.5, 1)  # noqa: S311 - jitter, not a secret
            pause = pause if answer.after is None else answer.after
            if not answer.again or attempt == _ATTEMPTS or pause > _LONGEST_PAUSE:
                break
            time.sleep(pause)
        raise answer.error


def chat(spec: str) -> Callable[[str, str], str]:
    """The model that "openai:MODEL" or "openai:MODEL@BASE_URL" names."""
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise Invalid(f"{spec.partition('@')[0]!r} names no model", hint='e.g. "openai:gpt-4o-mini"')
    return Chat(found["model"], found["base"] or os.environ.get("OPENAI_BASE_URL") or _OPENAI).ask
