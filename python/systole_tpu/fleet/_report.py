"""What a dataset says of a fleet, with DuckDB."""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _systole
from .._errors import Error, PathError, UsageError
from ._dataset import Dataset
from ._render import FleetReport, Row

#: Device time in which the devices do no work of the program, by the columns of ``runs``.
WASTE = {
    "idle_ps": "idle",
    "collective_ps": "exposed communication",
    "copy_wait_ps": "waiting for copies",
    "host_io_ps": "transfers to and from the host",
}
#: Newest runs of a version that a comparison uses.
MOST_RUNS = 8
#: A host is the slowest of a run only if its work exceeds that of the median host by this share of the step.
LEAST_EXCESS_PERCENT = 0.5

#: Files that are read at once.
_FILES_AT_ONCE = 500

#: What is read of each table.
_COLUMNS: dict[str, dict[str, str]] = {
    "runs": {
        **dict.fromkeys(("capture", "job", "run", "host", "date", "date_from", "version", "times_from"), "VARCHAR"),
        "lower_bounds": "VARCHAR",
        **dict.fromkeys(("device_time_ps", *WASTE, "started_unix_ns", "lost_events"), "BIGINT"),
        **dict.fromkeys(("mfu_window_percent", "step_work_ps", "step_time_ps"), "DOUBLE"),
    },
    "ops": {
        **dict.fromkeys(("capture", "job", "name", "category", "times_from", "bound_by"), "VARCHAR"),
        **dict.fromkeys(("self_time_ps", "occurrences"), "BIGINT"),
        "efficiency_percent": "DOUBLE",
    },
    "hints": {
        **dict.fromkeys(("capture", "job", "hint", "title", "severity", "action", "times_from"), "VARCHAR"),
        **dict.fromkeys(("saving_ps", "saving_percent"), "DOUBLE"),
    },
}

#: Runs of other versions, or of other days where a directory is a day, may have the same names.
_RUN = "(version, CASE WHEN date_from = 'layout' THEN date END, run)::VARCHAR"

_JOBS = f"""
SELECT job, times_from, count(*) AS captures, count(DISTINCT {_RUN}) AS runs, count(DISTINCT host) AS hosts,
  sum(device_time_ps)::HUGEINT AS device_time_ps,
  sum({' + '.join(WASTE)})::HUGEINT AS wasted_ps,
  {', '.join(f'sum({column})::HUGEINT AS {column}' for column in WASTE)},
  sum(mfu_window_percent * device_time_ps) / sum(device_time_ps) FILTER (mfu_window_percent IS NOT NULL)
    AS mfu_window_percent,
  coalesce(bool_or(list_contains(string_split(lower_bounds, ', '), 'mfu_window_percent')), false) AS mfu_window_is_lower_bound
FROM runs WHERE device_time_ps IS NOT NULL GROUP BY ALL ORDER BY wasted_ps DESC, job
"""

_HINTS = """
SELECT job, hints.times_from, hint, any_value(hints.title) AS title, count(*) AS captures,
  median(hints.saving_percent) AS saving_percent, arg_max(hints.action, hints.saving_ps) AS action
FROM hints JOIN runs USING (capture, job) WHERE severity <> 'health'
GROUP BY job, hints.times_from, hint ORDER BY job, sum(coalesce(hints.saving_ps, 0)) DESC, hint
"""

#: What bounds a family is what bounds most of its time, which may be unknown.
_FAMILIES = """
WITH parts AS (
  SELECT regexp_replace(ops.name, '\\.[0-9]+$', '') AS family, ops.*,
    sum(self_time_ps) OVER (PARTITION BY family, ops.category, ops.times_from, bound_by) AS alike_ps
  FROM ops JOIN runs USING (capture, job) WHERE occurrences > 0 AND self_time_ps > 0
)
SELECT family, category, times_from, count(DISTINCT job) AS jobs, count(DISTINCT capture) AS captures,
  sum(self_time_ps)::HUGEINT AS self_time_ps,
  sum(self_time_ps * (1 - least(efficiency_percent, 100) / 100)) FILTER (efficiency_percent IS NOT NULL) AS above_roofline_ps,
  sum(self_time_ps) FILTER (efficiency_percent IS NOT NULL) AS rated_ps,
  nullif(arg_max(coalesce(bound_by, ''), alike_ps), '') AS bound_by
FROM parts GROUP BY ALL ORDER BY self_time_ps DESC, family LIMIT ?
"""

_HOSTS = f"""
SELECT job, {_RUN} AS run, host, max(step_work_ps) AS work_ps, max(step_time_ps) AS step_ps
FROM runs WHERE step_work_ps IS NOT NULL AND times_from IS NULL GROUP BY ALL ORDER BY ALL
"""

_CAPTURES = f"""
SELECT capture, job, version, date, {_RUN} AS run, step_time_ps, coalesce(started_unix_ns, 0) AS started
FROM runs WHERE times_from IS NULL ORDER BY job, date, started, run, step_time_ps DESC NULLS LAST, capture
"""


def report(dataset: str | os.PathLike[str], *, families: int = 30) -> FleetReport:
    """What a dataset says of jobs, families of ops, versions and hosts (needs ``pip install systole-tpu[fleet]``).

    ``families`` is the number of families of ops. Raises ``PathError`` if there is no dataset.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError("reports of a fleet need DuckDB: pip install 'systole-tpu[fleet]'", 2) from None
    if families < 0:
        raise UsageError("families: at least 0", 2)
    home = Dataset(dataset)
    notes = list(home.notes())
    if not notes:
        raise PathError(f"there is no dataset here; `systole fleet run PATHS -o DATASET` makes one: {home.root}", 3)
    unread = [note for note in notes if note["status"] == "failed"]
    failed = [{key: note.get(key) for key in ("path", "job", "reason", "code")} for note in unread]
    if not any((home.root / "runs").rglob("*.parquet")):
        return FleetReport({"captures": 0, "failed": len(failed)}, failed=[{**one, "is_counted": False} for one in failed])
    with duckdb.connect() as connection:
        # Its progress bar would stand in the output.
        connection.execute("SET enable_progress_bar = false")
        try:
            for name in _COLUMNS:
                _load(connection, home, name)
        except duckdb.Error as error:
            why = str(error).partition("\n")[0]  # then comes the SQL
            cure = "run `systole fleet run PATHS -o DATASET --again`, which writes all of it anew"
            raise Error(f"the dataset is damaged: {why}; {cure}: {home.root}", 4) from None
        ask = lambda sql, *values: _rows(connection.execute(sql, list(values)))
        overview = ask(
            "SELECT count(*) AS captures, count(DISTINCT job) AS jobs, count(DISTINCT host) AS hosts, min(date) AS first_date,"
            " max(date) AS last_date, count(*) FILTER (device_time_ps IS NULL) AS without_devices,"
            " count(*) FILTER (times_from IS NOT NULL) AS simulated, sum(device_time_ps)::HUGEINT AS device_time_ps,"
            " sum(lost_events)::HUGEINT AS lost_events FROM runs"
        )[0]
        there = {row["capture"] for row in ask("SELECT capture FROM runs")}
        for one, note in zip(failed, unread):
            one["is_counted"] = note.get("id") in there
        overview |= {"failed": len(failed), "outdated": sum(one["is_counted"] for one in failed)}
        jobs = list(_jobs(ask(_JOBS), ask(_HINTS), failed))
        found = ask(_FAMILIES, families)
        regressions = list(_regressions(home, ask(_CAPTURES)))
        stragglers = _stragglers(ask(_HOSTS))
    # What got slower first, then what got faster, then what did not change.
    regressions.sort(key=lambda row: (row["finding"] != "changed", -(row["change_percent"] or 0), row["job"]))
    for family in found:
        total = overview["device_time_ps"]
        family["of_device_time_percent"] = 100 * family["self_time_ps"] / total if total else None
    return FleetReport(overview, jobs, found, regressions, stragglers, failed)


def _load(connection: Any, home: Dataset, name: str) -> None:
    """Reads what is asked for of all files of a table, some files at a time: each query would read all of them, and DuckDB
    keeps what it knows of each."""
    columns = _COLUMNS[name]
    connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {type}' for column, type in columns.items())})")
    files = sorted(str(file) for file in (home.root / name).rglob("*.parquet"))
    # Files of older versions may lack some.
    wanted = f"COLUMNS('^({'|'.join(columns)})$')"
    source = "read_parquet(?, hive_partitioning = true, hive_types_autocast = false, union_by_name = true)"
    for start in range(0, len(files), _FILES_AT_ONCE):
        some = files[start : start + _FILES_AT_ONCE]
        connection.execute(f"INSERT INTO {name} BY NAME SELECT {wanted} FROM {source}", [some])


def _rows(answer: Any) -> list[Row]:
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row)) for row in answer.fetchall()]


def _jobs(jobs: Iterable[Row], hints: Iterable[Row], failed: list[Row]) -> Iterator[Row]:
    first: dict[tuple[str, str | None], Row] = {}
    for hint in hints:
        first.setdefault((hint["job"], hint["times_from"]), hint)
    for job in jobs:
        total = job["device_time_ps"]
        reasons = sorted(((job[column] or 0, why) for column, why in WASTE.items()), reverse=True)
        best = first.get((job["job"], job["times_from"]))
        yield {
            **job,
            "failed": sum(one["job"] == job["job"] for one in failed),
            "wasted_percent": 100 * job["wasted_ps"] / total if total else None,
            "reason": reasons[0][1] if reasons[0][0] else None,
            "hint": best and {key: best[key] for key in ("hint", "title", "captures", "saving_percent", "action")},
        }


def _regressions(home: Dataset, captures: Iterable[Row]) -> Iterator[Row]:
    """Compares successive versions of each job; captures without a version among themselves, by successive days. Of each
    run, the host with the longest steps counts: it sets the pace."""
    alike: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for capture in captures:
        if (home.root / "_summaries" / f"{capture['capture']}.json").is_file():
            alike[capture["job"], "version" if capture["version"] else "date"].append(capture)
    for (job, by), rows in sorted(alike.items()):
        versions: dict[str, dict[str, Row]] = defaultdict(dict)
        for row in rows:
            slowest = versions[row[by]].get(row["run"])
            if slowest is None or (row["step_time_ps"] or 0) > (slowest["step_time_ps"] or 0):
                versions[row[by]][row["run"]] = row
        first = lambda runs: min((run["date"], run["started"]) for run in runs.values())
        # Where times say nothing, v2 comes before v10.
        numbers = lambda version: ([int(number) for number in re.findall(r"\d+", version)], version)
        ordered = sorted(versions.items(), key=lambda item: (first(item[1]), numbers(item[0])))
        sides = [(version, list(runs.values())[-MOST_RUNS:]) for version, runs in ordered]
        for (base, base_runs), (cand, cand_runs) in zip(sides, sides[1:]):
            yield {"job": job, "by": by, "base": base, "cand": cand, **_compared(home, base_runs, cand_runs)}


def _compared(home: Dataset, base: list[Row], cand: list[Row]) -> Row:
    files = [[str(home.root / "_summaries" / f"{run['capture']}.json") for run in side] for side in (base, cand)]
    counts = {"base_runs": len(base), "cand_runs": len(cand)}
    try:
        comparison = json.loads(_systole.compare_summaries(files[0], files[1]).json)
    except _systole.CommandFailed as failed:
        unknown = dict.fromkeys(("finding", "change_percent", "change_ps", "p"))
        return {**counts, "statement": str(failed.args[0]), **unknown}
    change: Row = next((series for series in comparison["steps"] if series["id"] == "step.time_ps"), {})
    return {
        **counts,
        "statement": comparison["statement"],
        "finding": change.get("finding"),
        "change_percent": change.get("change_percent"),
        "change_ps": change.get("change"),
        "p": change.get("p"),
    }


def _stragglers(hosts: Iterable[Row]) -> list[Row]:
    """How often each host has the most work of its run. If all were alike, each of n hosts would be first in 1 of n
    runs: p is the chance to be first as often as it was, or more."""
    runs: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in hosts:
        runs[row["job"], row["run"]].append(row)
    seen: dict[str, list[tuple[float, bool, int]]] = defaultdict(list)
    jobs: dict[str, set[str]] = defaultdict(set)
    for (job, _), rows in runs.items():
        # With two hosts nobody can tell which one is unlike the others.
        if len(rows) < 3:
            continue
        works = sorted(row["work_ps"] for row in rows)
        middle = (works[(len(works) - 1) // 2] + works[len(works) // 2]) / 2
        for row in rows:
            excess = 100 * (row["work_ps"] - middle) / row["step_ps"] if row["step_ps"] else 0.0
            first = row["work_ps"] == works[-1] > works[-2] and excess > LEAST_EXCESS_PERCENT
            seen[row["host"]].append((excess, first, len(rows)))
            jobs[row["host"]].add(job)
    found = []
    for host, runs_of in seen.items():
        slowest = sum(first for _, first, _ in runs_of)
        if slowest:
            p = _chance([1 / count for _, _, count in runs_of], slowest)
            found.append({
                "host": host,
                "runs": len(runs_of),
                "slowest_in": slowest,
                "excess_percent": sum(excess for excess, *_ in runs_of) / len(runs_of),
                "p": p,
                # Bonferroni: one test for each host.
                "stands_out": p < 0.05 / len(seen),
                "jobs": sorted(jobs[host]),
            })
    return sorted(found, key=lambda row: (row["p"], -row["excess_percent"], row["host"]))


def _chance(chances: list[float], least: int) -> float:
    """The probability that at least so many of independent events happen."""
    exactly = [1.0]
    for chance in chances:
        exactly = [
            (exactly[k] * (1 - chance) if k < len(exactly) else 0.0) + (exactly[k - 1] * chance if k else 0.0)
            for k in range(len(exactly) + 1)
        ]
    return min(1.0, math.fsum(exactly[least:]))
