"""Reports of a fleet, as text and as a page."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from .._pages import STYLE, framed

Row: TypeAlias = "dict[str, Any]"

_UNKNOWN = "–"


@dataclass(frozen=True)
class FleetReport:
    """What a dataset says. Each list is sorted, what matters most first; missing numbers are ``None``."""

    #: Numbers of captures, jobs and hosts, and all device time.
    overview: Row
    #: Jobs by device time in which no device works, with the reasons and the hint that saves most.
    jobs: list[Row] = field(default_factory=list)
    #: Families of ops by their self time.
    families: list[Row] = field(default_factory=list)
    #: The change of the step time from each version of a job to the next.
    regressions: list[Row] = field(default_factory=list)
    #: Hosts by how often they are the slowest of their run.
    stragglers: list[Row] = field(default_factory=list)
    #: Captures that could not be analyzed; ``is_counted`` are those whose rows of an earlier file are still there.
    failed: list[Row] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        names = ("overview", "jobs", "families", "regressions", "stragglers", "failed")
        return {"schema": "systole.fleet/1", **{name: getattr(self, name) for name in names}}

    def json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n"

    def html(self) -> str:
        """A page of its own, light and dark."""
        return page(self)

    def __str__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return framed(self.html())


def time(ps: float | None) -> str:
    """Picoseconds in a unit that suits."""
    if ps is None:
        return _UNKNOWN
    for unit, size in (("h", 3600e12), ("min", 60e12), ("s", 1e12), ("ms", 1e9), ("µs", 1e6)):
        if abs(ps) >= size:
            return f"{ps / size:.2f} {unit}"
    return f"{ps / 1e3:.2f} ns"


def share(percent: float | None, sign: bool = False) -> str:
    """A percentage; one that is not 0 or 100 does not read so."""
    if percent is None:
        return _UNKNOWN
    if not sign and (0 < percent < 0.05 or 99.95 <= percent < 100):
        return "< 0.1 %" if percent < 50 else "> 99.9 %"
    return f"{percent:+.1f} %" if sign else f"{percent:.1f} %"


def chance(p: float | None) -> str:
    """A p-value."""
    return _UNKNOWN if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


_FINDINGS = {"changed": "more than noise", "noise": "within noise", "between-runs": "within the spread between runs", "too-few": "too few steps", "untested": "not tested"}


def counted(count: int, what: str) -> str:
    """``1 capture``, ``2 captures``."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def sections(report: FleetReport) -> Iterable[tuple[str, str, list[str], list[list[str]]]]:
    """Title, explanation, headings and rows of each table."""
    label = lambda row: f"{row['job']} ({row['times_from']})" if row["times_from"] else str(row["job"])
    all_rated = lambda row: row["rated_ps"] in (None, row["self_time_ps"])
    yield (
        "Jobs",
        "Wasted: device time, from first op to last in each capture, in which devices are idle, wait for communication or"
        " copies, or exchange data with the host.",
        ["Job", "Captures", "Device time", "Wasted", "of device time", "Idle", "Communication", "Copies", "Host I/O", "Try first"],
        [
            [label(row), f"{row['captures']}, {row['failed']} failed" if row["failed"] else str(row["captures"]), time(row["device_time_ps"]), time(row["wasted_ps"]), share(row["wasted_percent"])]
            + [share(100 * row[part] / row["device_time_ps"]) for part in ("idle_ps", "collective_ps", "copy_wait_ps", "host_io_ps")]
            + [f"{row['hint']['hint']} {row['hint']['title']} ({counted(row['hint']['captures'], 'capture')})" if row["hint"] else _UNKNOWN]
            for row in report.jobs
        ],
    )
    yield (
        "Families of ops",
        "Ops of one name without the compiler's number. Above roofline: time beyond what compute and memory peaks need, where"
        " they are known; where they are known for some of the ops, of the self time of these. Bound by: what most of the self"
        " time is bound by.",
        ["Family", "Category", "Jobs", "Self time", "of device time", "Above roofline", "Bound by"],
        [
            [row["family"], row["category"] or _UNKNOWN, str(row["jobs"]), time(row["self_time_ps"])]
            + [share(row["of_device_time_percent"]), time(row["above_roofline_ps"]) + ("" if all_rated(row) else f" of {time(row['rated_ps'])}")]
            + [row["bound_by"] or _UNKNOWN]
            for row in report.families
        ],
    )
    quiet = [row for row in report.regressions if row["finding"] in ("noise", "too-few", "untested")]
    few = sum(row["finding"] != "noise" for row in quiet)
    same = f" Not listed: {len(quiet) - few} changes within noise, {few} with too few steps to tell." if quiet else ""
    yield (
        "Versions",
        "Median step time from each version of a job to the next (captures without a version: from day to day); tests as in"
        f" `systole compare`, with the slowest host of each run.{same}",
        ["Job", "From", "To", "Runs", "Step", "p", "Finding", "Statement"],
        [
            [row["job"], row["base"], row["cand"], f"{row['base_runs']} / {row['cand_runs']}", share(row["change_percent"], True)]
            + [chance(row["p"]), _FINDINGS.get(row["finding"], _UNKNOWN), row["statement"]]
            for row in report.regressions
            if row not in quiet
        ],
    )
    yield (
        "Hosts that keep others waiting",
        "Slowest in: runs of at least three hosts in which the host has the most work. p: chance of this if all hosts were"
        " alike. Excess: its work above that of the median host, of the step.",
        ["Host", "Runs", "Slowest in", "Excess", "p", "Stands out"],
        [
            [row["host"], str(row["runs"]), str(row["slowest_in"]), share(row["excess_percent"], True), chance(row["p"])]
            + ["yes" if row["stands_out"] else "no"]
            for row in report.stragglers
        ],
    )
    yield (
        "Failed captures",
        "They are tried again at the next run. Counted: what was read of an earlier file is part of all numbers.",
        ["Counted", "Capture"],
        [
            ["yes" if row["is_counted"] else "no", row["reason"] if row["path"] in row["reason"] else f"{row['reason']}: {row['path']}"]
            for row in report.failed
        ],
    )


def summary(report: FleetReport) -> str:
    """The dataset in a sentence."""
    all = report.overview
    if not all.get("captures"):
        return f"No capture could be analyzed; {all['failed']} failed."
    dates = all["first_date"] if all["first_date"] == all["last_date"] else f"{all['first_date']} to {all['last_date']}"
    counts = [counted(all[key], key[:-1]) for key in ("captures", "jobs", "hosts")]
    parts = [f"{counts[0]} of {counts[1]} on {counts[2]}, {dates}"]
    if all["device_time_ps"] is not None:
        parts.append(f"{time(all['device_time_ps'])} of device time")
    for key, what in (("without_devices", "without TPU ops"), ("simulated", "simulated"), ("failed", "failed")):
        if all[key]:
            parts.append(f"{all[key]} {what}")
    if all["outdated"]:
        parts[-1] += f", of which {all['outdated']} counted as read of an earlier file"
    if all["lost_events"]:
        parts.append(f"{all['lost_events']:,} events, files or damaged parts lost when files were read")
    return "; ".join(parts) + "."


def text(report: FleetReport) -> str:
    """For a terminal."""
    lines = [summary(report)]
    for title, about, heads, rows in sections(report):
        if rows or title == "Versions" and report.regressions:
            lines += ["", title, about, *(_aligned(heads, rows) if rows else ())]
    return "\n".join(lines)


def _aligned(heads: list[str], rows: list[list[str]]) -> list[str]:
    # Nothing follows the last column: it may be long.
    columns = [[_shortened(cell) if at < len(heads) - 1 else cell for cell in column] for at, column in enumerate(zip(heads, *rows))]
    widths = [max(map(_width, column)) for column in columns]
    pad = lambda cell, width: cell + " " * (width - _width(cell))
    return ["  ".join(pad(cell, width) for cell, width in zip(line, widths)).rstrip() for line in zip(*columns)]


def _shortened(cell: str, most: int = 60) -> str:
    return cell if len(cell) <= most else cell[: most - 1] + "…"


def _width(cell: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in cell)


def page(report: FleetReport) -> str:
    """A page that needs no network."""
    escape: Any = html.escape
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Fleet · Systole</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{STYLE}</style></head><body><h1>Fleet</h1><p>{escape(summary(report))}</p>",
    ]
    for title, about, heads, rows in sections(report):
        if not rows and not (title == "Versions" and report.regressions):
            continue
        head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
        # A number and its unit stay on one line.
        cells = lambda row: "".join(f"<td{' class=short' if len(cell) < 24 else ''}>{escape(cell)}</td>" for cell in row)
        body = "".join(f"<tr>{cells(row)}</tr>" for row in rows)
        explained = re.sub("`(.*?)`", r"<code>\1</code>", escape(about))
        parts.append(f"<h2>{escape(title)}</h2><p class=about>{explained}</p>")
        if rows:
            parts.append(f"<div class=wide><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
    return "".join(parts) + "</body></html>\n"
