"""Fault and crash tests: processes that die, stop, fork and are interrupted; disks that are full, fail and lie."""
