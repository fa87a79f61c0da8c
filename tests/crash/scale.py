"""How much is run: a short version by default, the whole campaign with MEMWELL_CAMPAIGN=1."""

from __future__ import annotations

import os
import random
import time

CAMPAIGN = os.environ.get("MEMWELL_CAMPAIGN") == "1"
SEED = int(os.environ.get("MEMWELL_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
PATIENCE_S = 120.0  # the bound of every wait: it is never reached unless something hangs


def scaled(short: int, whole: int) -> int:
    """How often to repeat."""
    return whole if CAMPAIGN else short


def until_a_random_moment(rng: random.Random, longest_s: float) -> None:
    """Let the victims run for a random time. The moment is the experiment itself; no result is waited for here."""
    time.sleep(rng.uniform(0, longest_s))
