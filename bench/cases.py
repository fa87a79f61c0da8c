"""What is measured on stores, and the promise that each measurement is held to."""

from __future__ import annotations

from bench.disk import probed
from bench.lab import Lab, Lane
from bench.report import Case, Report, Target

RAW, LANGGRAPH = "sqlite3", "langgraph sqlite"


def get(lab: Lab, report: Report) -> None:
    """Read random keys."""
    case = Case("get", "get", "cpu", lab.race("get", lab.all("get", lab.scale.calls)))
    report.cases.append(case)
    report.targets += [
        Target("get, beside raw sqlite3's versioned get", case.ratio("memwell", RAW), 1.5, clock="CPU"),
        Target("get, faster than LangGraph SqliteStore", case.ratio(LANGGRAPH, "memwell"), 3, False, clock="CPU"),
    ]


def awaited(lab: Lab, report: Report) -> None:
    """The same get, awaited on a running loop."""
    ours, calls = lab.worker("memwell"), lab.scale.calls
    lanes = [Lane("get", ours, "get", calls), Lane("await get", ours, "await", calls)]
    case = Case("await", "get, awaited", "cpu", lab.race("await", lanes, same_keys=False))
    report.cases.append(case)
    report.targets.append(Target("awaited get, beside a plain one", case.ratio("await get", "get"), 1.25, clock="CPU"))


def listing(lab: Lab, report: Report) -> None:
    """List the 100 keys of a group."""
    lanes = lab.all("list", lab.scale.list_calls, without=("diskcache",))
    case = Case("list", "list of 100 keys", "cpu", lab.race("list", lanes))
    report.cases.append(case)
    ratio = case.ratio(LANGGRAPH, "memwell")
    report.targets.append(Target("list, faster than LangGraph's search", ratio, 10, False, clock="CPU"))


def set_fast(lab: Lab, report: Report) -> None:
    """Overwrite random keys, with history, on WAL/NORMAL."""
    case = Case("set", "set, fast", "wall", lab.race("set", lab.all("set", lab.scale.calls)))
    report.cases.append(case)
    report.targets += [
        Target("set with history, beside raw sqlite3's bare upsert", case.ratio("memwell", RAW), 2.5, clock="wall"),
        Target(
            "set, faster than LangGraph SqliteStore on WAL/NORMAL",
            case.ratio(LANGGRAPH, "memwell"),
            1.5,
            at_most=False,
            clock="wall",
        ),
    ]


def set_durable(lab: Lab, report: Report) -> None:
    """Overwrite random keys so that each survives a power cut."""
    lanes = lab.all("set", lab.scale.durable_calls, durable=True, without=("langgraph ram",))
    with probed(lab.folder, report, "durable set"):
        case = Case("durable", "set, durable", "wall", lab.race("durable", lanes))
    report.cases.append(case)
    ratio = case.ratio(LANGGRAPH, "memwell")
    about = "durable set, faster than LangGraph SqliteStore's default"
    report.targets.append(Target(about, ratio, 3, False, clock="wall"))


def threads(lab: Lab, report: Report) -> None:
    """Durable sets from one thread and from many."""
    ours, many = lab.worker("memwell", durable=True), lab.scale.threads
    lanes = [
        Lane("1 thread", ours, "set", 2 * lab.scale.durable_calls),
        Lane(f"{many} threads", ours, f"threads:{many}", many * lab.scale.durable_calls),
    ]
    with probed(lab.folder, report, "durable sets by threads"):
        case = Case("threads", "set, durable, by threads", "wall", lab.race("threads", lanes))
    report.cases.append(case)
    ratio = case.ratio("1 thread", f"{many} threads")
    report.targets.append(Target(f"durable sets of {many} threads, beside one's rate", ratio, 5, False, clock="wall"))


def growth(lab: Lab, report: Report) -> None:
    """Get and set with few keys and with a hundred times as many."""
    sizes = {f"{keys:,} keys": lab.worker("memwell", keys=keys) for keys in (lab.scale.small, lab.scale.large)}
    for action in ("get", "set"):
        lanes = [Lane(label, worker, action, lab.scale.calls) for label, worker in sizes.items()]
        case = Case(f"growth-{action}", f"{action}, by size", "cpu", lab.race(f"growth {action}", lanes))
        report.cases.append(case)
        small, large = sizes
        about = f"{action} with {large}, beside {small}"
        report.targets.append(Target(about, case.ratio(large, small), 1.5, clock="CPU"))
