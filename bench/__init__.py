"""Memwell measured beside its peers, in one interleaved run: `python -m bench`."""
