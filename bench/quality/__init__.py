"""Search quality: a labelled set of conversations, and how rankings are scored against it."""
