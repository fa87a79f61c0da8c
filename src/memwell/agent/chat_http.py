"""How a chat model behind HTTP is asked."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from memwell.served import Server, named

_TIMEOUT = 120.0


class _Said(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Said


class _Answer(msgspec.Struct):
    choices: list[_Choice]


class Chat:
    """A chat model behind a server. Threads may share it."""

    def __init__(self, model: str, base_url: str) -> None:
        self._server = Server(model, base_url, "chat/completions", "chat", timeout=_TIMEOUT)

    def ask(self, instructions: str, text: str) -> str:
        """What the model answers; empty if it says nothing."""
        said = [{"role": "system", "content": instructions}, {"role": "user", "content": text}]
        answer = self._server.ask({"messages": said})
        try:
            choices = msgspec.json.decode(answer, type=_Answer).choices
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self._server.is_foreign() from None
        return (choices[0].message.content or "") if choices else ""


def chat(spec: str) -> Callable[[str, str], str]:
    """The model that "openai:MODEL" or "openai:MODEL@BASE_URL" names."""
    return Chat(*named(spec, "gpt-4o-mini")).ask
