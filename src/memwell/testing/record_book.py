"""Records kept in a plain list, by the rules and nothing else: what a store is compared with."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from memwell.errors import Conflict, Denied, NotFound

TRUSTS = ("external", "agent", "system", "human")


@dataclass
class Kept:
    """A record of the model; its id is told by the store."""

    content: str
    kind: str
    by: str
    trust: str
    created: int
    updated: int
    expires: int | None
    id: str = ""
    tags: list[str] = field(default_factory=list)
    pinned: bool = False
    status: str = "active"
    supersedes: list[str] = field(default_factory=list)
    derived: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    version: int = 1
    reinforced: int = 0
    reason: str | None = None
    updated_by: str | None = None
    reviewed_by: str | None = None

    def alive(self, now: int) -> bool:
        return self.expires is None or self.expires > now

    def says(self) -> tuple[str, str]:
        return self.kind, " ".join(self.content.casefold().split())

    def touch(self, now: int, **changes: Any) -> Kept:
        """The next version."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.version, self.updated = self.version + 1, now
        return self


class Book:
    """The records of one scope, oldest first."""

    def __init__(self) -> None:
        self.all: list[Kept] = []

    def copy(self) -> Book:
        return deepcopy(self)

    def live(self, now: int) -> list[Kept]:
        """What has not expired, of any status, oldest first."""
        return sorted((one for one in self.all if one.alive(now)), key=lambda one: one.created)

    def hidden(self, id: str, now: int) -> bool:
        """Whether something in force stands in its place, or in the place of what was deleted there."""
        seen, queue = {id}, [id]
        while queue:
            old = queue.pop()
            for one in self.live(now):
                if old in one.supersedes and one.status == "active":
                    return True
                if old in one.supersedes and one.status == "deleted" and one.id not in seen:
                    seen.add(one.id)
                    queue.append(one.id)
        return False

    def status(self, one: Kept, now: int) -> str:
        return "superseded" if one.status == "active" and self.hidden(one.id, now) else one.status

    def shown(self, now: int) -> list[Kept]:
        """What a listing shows, newest first."""
        return [one for one in reversed(self.live(now)) if self.status(one, now) == "active"]

    def standing(self, id: str, now: int, status: str = "active", version: int | None = None) -> Kept:
        for one in self.live(now):
            if one.id == id and one.status == status:
                if version is not None and one.version != version:
                    raise Conflict("stale", current=one)
                return one
        raise NotFound("there is none")

    # Writes

    def remember(self, new: Kept, now: int) -> Kept:
        same = None if new.supersedes else self._same(new, now)
        if same is not None:
            return same if "pending" in (new.status, same.status) else self._reinforce(same, new, now)
        for old in new.supersedes:
            self.standing(old, now)
        for parent in new.derived:
            new.trust = min(new.trust, self.standing(parent, now).trust, key=TRUSTS.index)
        self.all.append(new)
        return new

    def _same(self, new: Kept, now: int) -> Kept | None:
        for one in (one for one in self.all if one.alive(now)):  # in the order of their making, not of their time
            in_force = one.status == "active" or (one.status == "pending" == new.status)
            if one.says() == new.says() and in_force and not (one.id and self.hidden(one.id, now)):
                return one
        return None

    def _reinforce(self, one: Kept, new: Kept, now: int) -> Kept:
        confirmed = new.trust == "human" and not one.derived and not new.derived
        fresh = one.id == ""  # it was first said in the same call
        version, updated = one.version, one.updated
        one.touch(
            now,
            reinforced=one.reinforced + 1,
            tags=list(dict.fromkeys([*one.tags, *new.tags])),
            pinned=one.pinned or new.pinned,
            sources=list(dict.fromkeys([*one.sources, *new.sources])) if one.sources else [],
            trust="human" if confirmed else one.trust,
            expires=None if one.expires is None or new.expires is None else max(one.expires, new.expires),
        )
        if fresh:
            one.version, one.updated = version, updated
        return one

    def update(self, id: str, changes: dict[str, Any], by: str, trust: str, now: int, version: int | None) -> Kept:
        one = self.standing(id, now, version=version)
        if "content" in changes:
            changes = {**changes, "trust": min(one.trust, trust, key=TRUSTS.index)}
        return one.touch(now, updated_by=by, **changes)

    def supersede(self, id: str, new: Kept, now: int, version: int | None) -> Kept:
        self.standing(id, now, version=version)
        new.supersedes = [id]
        return self.remember(new, now)

    def turn(self, id: str, before: str, after: str, reason: str | None, now: int) -> Kept:
        return self.standing(id, now, before).touch(now, status=after, reason=reason)

    def review(self, id: str, approve: bool, by: str, now: int) -> Kept:
        one = self.standing(id, now, "pending")
        if one.by == by:
            raise Denied("nobody reviews their own", capability="record.write")
        return one.touch(now, status="active" if approve else "rejected", reason=None, reviewed_by=by)

    def forget(self, source: str, now: int) -> tuple[int, int, int]:
        gone, kept = [], 0
        for one in self.live(now):
            if one.sources == [source]:
                gone.append(one.id)
            elif source in one.sources:
                one.touch(now, sources=[other for other in one.sources if other != source])
                kept += 1
        direct = len(gone)
        for parent in gone:  # it grows as it is walked
            gone += [one.id for one in self.live(now) if parent in one.derived and one.id not in gone]
        self.all = [one for one in self.all if one.id not in gone]
        return direct, len(gone) - direct, kept


Change = Callable[[Book], Any]
