"""Every error Memwell raises, drawn once.

MemwellError                code, retryable, hint: what to do next
├─ NotFound (LookupError)
├─ Conflict                 .current is the entry that won
├─ Denied                   .capability; never says whether the thing exists
├─ Invalid (ValueError)
├─ TooLarge (ValueError)    .limit
├─ PendingApproval          .id
├─ Unsupported
├─ Corrupt                  never retried
└─ Unavailable              retryable
   ├─ Busy
   └─ Unreachable
"""

from __future__ import annotations

from typing import Any, ClassVar


class MemwellError(Exception):
    """The parent of every error here; `code` is stable, `hint` says what to do next."""

    code: ClassVar[str] = "failure"
    retryable: ClassVar[bool] = False
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self.__dict__)


def _made_again(kind: type[MemwellError], fields: dict[str, Any]) -> MemwellError:
    """A copy, as other processes and `copy` make it: whatever the error carries comes along."""
    error = kind.__new__(kind, fields["message"])
    error.args = (fields["message"],)
    error.__dict__.update(fields)
    return error


class NotFound(MemwellError, LookupError):
    """What was asked for is not there."""

    code = "not_found"
    http_status = 404
    exit_code = 3


class Conflict(MemwellError):
    """The version given is not the current one; nothing was changed and `current` is what is there (None: absent)."""

    code = "conflict"
    http_status = 409
    exit_code = 5

    def __init__(self, message: str, *, current: Any = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.current = current


class Denied(MemwellError):
    """The caller holds no capability for this; the message is the same whether or not the thing exists."""

    code = "denied"
    http_status = 403
    exit_code = 4

    def __init__(self, message: str, *, capability: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.capability = capability


class Invalid(MemwellError, ValueError):
    """The request itself is wrong; nothing was changed."""

    code = "invalid"
    http_status = 400
    exit_code = 2


class TooLarge(MemwellError, ValueError):
    """Over a limit; `limit` is its value."""

    code = "too_large"
    http_status = 413
    exit_code = 2

    def __init__(self, message: str, *, limit: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.limit = limit


class PendingApproval(MemwellError):
    """The write waits for a person; `id` names it in the inbox."""

    code = "pending_approval"
    http_status = 202
    exit_code = 6

    def __init__(self, message: str, *, id: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.id = id


class Unsupported(MemwellError):
    """This backend or version cannot do it."""

    code = "unsupported"
    http_status = 501


class Corrupt(MemwellError):
    """What is stored is damaged; it is never retried and nothing is deleted."""

    code = "corrupt"


class Unavailable(MemwellError):
    """The store cannot serve right now; trying again may succeed."""

    code = "unavailable"
    retryable = True
    http_status = 503


class Busy(Unavailable):
    """Another writer held the store for longer than the wait allowed."""

    code = "busy"


class Unreachable(Unavailable):
    """The server behind the store does not answer."""

    code = "unreachable"


ERRORS: dict[str, type[MemwellError]] = {
    error.code: error
    for error in (
        MemwellError,
        NotFound,
        Conflict,
        Denied,
        Invalid,
        TooLarge,
        PendingApproval,
        Unsupported,
        Corrupt,
        Unavailable,
        Busy,
        Unreachable,
    )
}
