"""``systole fleet run PATHS -o DATASET`` and ``systole fleet report DATASET``; ``python -m systole_tpu.fleet`` is the same."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from systole_tpu import Error, _systole
from systole_tpu._errors import translated
from systole_tpu.fleet import report, run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="systole fleet", description="Captures of many jobs and hosts.")
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("run", help="analyze captures, and write their rows into a dataset")
    make.add_argument("paths", nargs="+", metavar="PATH", help="profiles, directories with profiles below them, patterns")
    make.add_argument("-o", "--output", required=True, metavar="DATASET", help="directory of the dataset")
    make.add_argument("--engine", choices=("local", "ray", "spark"), default="local", help="where the work is done")
    make.add_argument("--workers", type=int, metavar="N", help="processes of the engine local; default: one per processor")
    make.add_argument("--layout", help="what directories mean, counted from the file: {job}/{version}/{run}/{host}")
    make.add_argument("--version", metavar="NAME", help="version of the program in all captures")
    make.add_argument("--device-spec", metavar="CHIP", help="chip of captures that record no peaks: v5e, or a file")
    make.add_argument("--wait", nargs="?", type=int, const=True, metavar="SECONDS", help="wait for captures that are being written")
    make.add_argument("--again", action="store_true", help="also captures that are in the dataset already")
    tell = commands.add_parser("report", help="what a dataset says of jobs, ops, versions and hosts")
    tell.add_argument("dataset", metavar="DATASET")
    tell.add_argument("--format", choices=("text", "json", "html"), default="text")
    tell.add_argument("-o", "--output", metavar="FILE", help="write to this file instead of standard output")
    tell.add_argument("--force", action="store_true", help="replace a file that Systole has not written")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code: 0, or 4 if captures failed, else that of the error."""
    args = _parser().parse_args(words)
    try:
        if args.command == "report":
            found = report(args.dataset)
            shown = {"text": lambda: f"{found}\n", "json": found.json, "html": found.html}[args.format]()
            if args.output not in (None, "-"):
                with translated():
                    _systole.write_text(args.output, shown, [args.dataset], args.force)
            else:
                sys.stdout.write(shown)
            return 0
        given = {"device_spec": args.device_spec, "wait": args.wait}
        options = {name: value for name, value in given.items() if value is not None}
        result = run(
            args.paths,
            args.output,
            engine=args.engine,
            workers=args.workers,
            layout=args.layout,
            version=args.version,
            again=args.again,
            **options,
        )
    except (Error, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return getattr(error, "code", 3)
    except KeyboardInterrupt:
        return 130
    print(result)
    return 4 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
