"""Plain values of reports. Times are picoseconds; a number that cannot be known is ``None``, never 0."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, TypeVar

T = TypeVar("T")


def of(kind: type[T], values: dict[str, Any]) -> T:
    """A value of ``kind`` from the fields of a report that it has."""
    known = {field.name: values.get(field.name, None if field.default is MISSING else field.default) for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**known)


@dataclass(frozen=True)
class Metric:
    """A number with its unit, its reference and where it comes from."""

    id: str
    title: str
    #: The number; ``None`` if this capture cannot tell.
    value: float | None
    unit: str
    #: What 100 % is, or the interval of the number.
    of: str
    #: ``measured``, ``profile``, ``static-cost``, ``derived``, ``assumed-peak`` or ``inferred``.
    provenance: str
    #: Why it is missing or only a lower bound, or a caution.
    note: str | None
    #: Whether it is only a lower bound.
    is_lower_bound: bool = False

    def __str__(self) -> str:
        value = "unknown" if self.value is None else f"{self.value:g} {'%' if self.unit == 'percent' else self.unit}"
        value = f"at least {value}" if self.is_lower_bound else value
        return f"{self.title}: {value} of {self.of}" if self.of else f"{self.title}: {value}"


@dataclass(frozen=True)
class Finding:
    """One statement of the verdict."""

    id: str
    statement: str
    time_ps: int | None
    share_percent: float | None
    #: What 100 % is.
    of: str | None
    provenance: str

    def __str__(self) -> str:
        return self.statement


@dataclass(frozen=True)
class Verdict:
    """What limits the program."""

    statement: str
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return self.statement


@dataclass(frozen=True)
class Evidence:
    """A number that a hint rests on."""

    what: str
    value: float
    unit: str
    #: What it refers to.
    of: str
    #: The limit beyond which the hint speaks; ``None`` if it has none.
    threshold: float | None
    provenance: str


@dataclass(frozen=True)
class Hint:
    """What to do, and what it would save."""

    id: str
    title: str
    #: ``critical``, ``warning``, ``info`` or ``health``.
    severity: str
    #: What was found in this trace.
    statement: str
    #: The first thing to do, in one short sentence.
    brief: str
    #: What to do.
    action: str
    #: The code or setting to change, to be copied; ``None`` if a few lines do not cure it.
    code: str | None
    #: What it saves at most of a step; savings cannot be added up.
    saving_ps: int | None
    saving_percent: float | None
    confidence: str
    evidence: tuple[Evidence, ...]
    #: Names of the ops that it concerns.
    ops: tuple[str, ...]

    @classmethod
    def of_report(cls, values: dict[str, Any]) -> Hint:
        """A hint of the report."""
        evidence = tuple(of(Evidence, one) for one in values["evidence"])
        return of(cls, {**values, "evidence": evidence, "ops": tuple(op["name"] for op in values["ops"])})

    def __str__(self) -> str:
        saving = "" if self.saving_percent is None else f" (saves at most {self.saving_percent:.1f} % of a step)"
        return f"{self.id} {self.title}{saving}: {self.statement}"


@dataclass(frozen=True)
class Step:
    """One step."""

    number: int
    label: str
    start_ps: int
    #: Longest span over the cores.
    time_ps: int
    #: From its start to the start of the next step; ``None`` for the last.
    interval_ps: int | None
    compile_ps: int
    is_partial: bool
    is_warmup: bool
    is_outlier: bool
    #: Why statistics leave it out; ``None`` if they do not.
    left_out: str | None


@dataclass(frozen=True)
class DeviceTime:
    """The executions of a program on one device."""

    device: str
    executions: int
    #: Median time of an execution.
    median_ps: float
    #: The 95 % confidence interval of the median; ``None`` for fewer than six executions.
    low_ps: float | None
    high_ps: float | None
    #: The fastest execution.
    least_ps: float
    #: Median time of a call, until its result is there; ``None`` unless calls and executions are as many.
    call_ps: float | None
    #: What a call takes beyond its execution, the median.
    dispatch_ps: float | None
