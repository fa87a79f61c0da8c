"""A model behind HTTP: any server that speaks as OpenAI's does. Keys, timeouts, retries and refusals, once for all."""

from __future__ import annotations

import os
import random
import re
import time
from email.message import Message
from functools import cache
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

import msgspec

from memwell import clock
from memwell.errors import Invalid, MemwellError, Unavailable, Unreachable

_SPEC = re.compile(r"openai:(?P<model>[^\s@]\S*?|@\S+?)(?:@(?P<base>[a-z]+://.*))?", re.IGNORECASE)
_KEY, _BASE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_ANSWER_BYTES = 64 << 20
_LONGEST_PAUSE = 20.0


def named(spec: str, example: str) -> tuple[str, str]:
    """The model and the base URL that "openai:MODEL" or "openai:MODEL@BASE_URL" names."""
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise Invalid(f"{spec.partition('@')[0]!r} names no model", hint=f'e.g. "openai:{example}"')
    base = found["base"] or os.environ.get(_BASE)
    if not base:
        hint = f"set {_BASE} to its base URL, or add it: openai:{found['model']}@http://localhost:11434/v1"
        raise Invalid(f"nothing says where the model {found['model']!r} is served", hint=hint)
    return found["model"], base


class _Refusal(NamedTuple):
    """Why a request failed, and whether and when it may help to ask again."""

    error: MemwellError
    again: bool = False
    after: float | None = None


@cache
def _opener() -> OpenerDirector:
    """Sends requests; it follows no redirect, which would carry the key to another host."""
    opener = OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, HTTPDefaultErrorHandler, HTTPErrorProcessor):
        opener.add_handler(handler())
    return opener


class Server:
    """A model behind a server; `noun` says in errors what it is for. Threads may share it."""

    def __init__(
        self,
        model: str,
        base_url: str,
        path: str,
        noun: str,
        *,
        timeout: float = 30,
        attempts: int = 4,
        pause: float = 0.5,
    ) -> None:
        self.model = model
        self._url, self._noun = f"{_base(base_url)}/{path}", noun
        self.host = urlsplit(self._url).netloc
        self._timeout, self._attempts, self._pause = timeout, attempts, pause

    def ask(self, question: dict[str, Any]) -> bytes:
        """The server's answer; a passing failure is tried again, a few times, at growing random distances."""
        body = msgspec.json.encode({"model": self.model, **question})
        attempt = 1
        while not isinstance(answer := self._once(body), bytes):
            pause = self._pause * 2**attempt * random.uniform(0.5, 1)  # noqa: S311 - jitter, not a secret
            pause = pause if answer.after is None else answer.after
            if not answer.again or attempt >= self._attempts or pause > _LONGEST_PAUSE:
                raise answer.error
            time.sleep(pause)
            attempt += 1
        return answer

    def is_foreign(self) -> Unavailable:
        """The error for an answer that can't be understood."""
        hint = "see that the base URL is that of an OpenAI-compatible API, often ending in /v1"
        return Unavailable(f"the {self._noun} server {self.host} answered with something else", hint=hint)

    def _once(self, body: bytes) -> bytes | _Refusal:
        request = Request(self._url, body, self._headers(), method="POST")  # noqa: S310 - http or https, checked
        deadline = clock.monotonic() + self._timeout
        try:
            with _opener().open(request, timeout=self._timeout) as response:
                return _body(response, deadline)
        except HTTPError as error:
            with error:
                return self._refused(error)
        except TimeoutError:
            return _Refusal(self._silent(f"no answer within {self._timeout:g} s"))
        except (OSError, HTTPException, UnicodeError) as error:
            reason = getattr(error, "reason", error)
            return _Refusal(self._silent(str(reason)), again=not isinstance(reason, TimeoutError))

    def _headers(self) -> dict[str, str]:
        """The key goes along where there is one, but never over a line that others can read."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "memwell"}
        key = os.environ.get(_KEY, "").strip()
        where = urlsplit(self._url)
        if not key.isascii() or not key.isprintable():
            raise Invalid(f"{_KEY} has characters that no key has", hint="set it again")
        if key and (where.scheme == "https" or where.hostname in _LOOPBACK):
            headers["Authorization"] = f"Bearer {key}"
        return headers

    def _silent(self, reason: str) -> Unreachable:
        return Unreachable(
            f"the {self._noun} server {self.host} failed: {reason}", hint="see that it runs, or raise the timeout"
        )

    def _refused(self, error: HTTPError) -> _Refusal:
        """What a status other than success means."""
        said = f"the {self._noun} server {self.host} answered {error.code}{_reason(error)}"
        if error.code in (401, 403):
            return _Refusal(Unavailable(said, hint=f"set {_KEY} to a key that it takes; it is sent over https only"))
        if error.code in (408, 429) or error.code >= 500:
            hint = "it is overloaded or its limit is used up: try again later"
            return _Refusal(Unavailable(said, hint=hint), again=True, after=_retry_after(error.headers))
        if error.code < 400:
            return _Refusal(Invalid(said, hint="redirects are not followed: give the base URL that it leads to"))
        return _Refusal(Invalid(said, hint=f"see that the model {self.model!r} and the base URL are right"))


def _base(url: str) -> str:
    """The base URL without its last slash; one that is no web address, or holds a password, is refused."""
    try:
        where = urlsplit(url)
        port_is_a_number = where.port != 0
    except ValueError:
        port_is_a_number = False
    if not port_is_a_number or where.scheme not in ("http", "https") or not where.hostname:
        raise Invalid("the model's base URL is not a web address", hint="e.g. http://localhost:11434/v1")
    if "@" in where.netloc or where.query or where.fragment or not url.isprintable() or " " in url:
        raise Invalid("the model's base URL holds more than an address", hint=f"the key goes into {_KEY}")
    return url.rstrip("/")


def _body(response: HTTPResponse, deadline: float) -> bytes:
    """The whole answer, unless it is endless or drips."""
    body = bytearray()
    while part := response.read1(1 << 16):
        body += part
        if clock.monotonic() > deadline:
            raise TimeoutError
        if len(body) > _ANSWER_BYTES:
            raise OSError("its answer has no end")
    return bytes(body)


def _reason(error: HTTPError) -> str:
    """What the server said, shortened, with nothing in it that must not be seen."""
    try:
        said: Any = msgspec.json.decode(error.read(10_000))["error"]
        text = str(said["message"] if isinstance(said, dict) else said)
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError, OSError, HTTPException):
        return ""
    key = os.environ.get(_KEY, "").strip()
    text = text.replace(key, "…") if key else text
    return ": " + "".join(character for character in text[:200] if character.isprintable())


def _retry_after(headers: Message) -> float | None:
    """The seconds that the server asks to wait; a date is not understood, and the usual pause is taken."""
    asked = headers.get("Retry-After", "")
    return float(asked) if re.fullmatch(r"\d{1,6}", asked) else None
