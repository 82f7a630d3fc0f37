//! Help texts below the options.

/// Below `-h`.
pub const MORE: &str = "More options and examples: --help";

pub const SYSTOLE: &str = "\
Examples:
  systole analyze runs/                       the newest run of a log directory: what limits it, what to do
  systole analyze t.xplane.pb --only hints    every hint in full
  systole compare base/ cand/                 what changed, and whether it is more than noise
  systole open t.xplane.pb                    the timeline

Exit codes:
  0    done
  1    internal error
  2    wrong usage
  3    path missing or unreadable; no display for a window; no profiler server answers
  4    input damaged or of unknown format
  10   a gate failed, or a hint is as severe as --fail-on
  11   inconclusive: with --strict; without it from compare, if the runs did not do the same
       work, from capture --steps, if no steps were found or they do not fit, and from a command
       that asks one thing, such as memory or compile, if the input does not say it
  12   capture: some hosts sent no profile, or too little was recorded; what was received is kept
  130  interrupted";

pub const ANALYZE: &str = "\
Examples:
  systole analyze runs/ --steps 3..7
  systole analyze t.xplane.pb --only ops --top 0
  systole analyze t.xplane.pb --only ops --table ops --format csv > ops.csv
  systole analyze t.xplane.pb --format json | jq .reports.steps
  gunzip -c t.trace.json.gz | systole analyze - -o json=- --top 20
  systole analyze t.xplane.pb -o html=report.html -o csv=tables/
  systole analyze new/ --budget systole.toml --baseline base.json -o junit=gates.xml";

pub const COMPARE: &str = "\
Examples:
  systole compare base.xplane.pb cand.xplane.pb
  systole compare --base a1 --base a2 --cand b1 --cand b2      several runs of each side
  systole compare base.json cand.xplane.pb --budget systole.toml -o md=comparison.md

Exit code 11: the runs did not do the same work (other chips, models or numbers of steps), so that their difference says
nothing about the program; with --budget only if they cannot be compared at all. --force or --exit-zero: 0.";

pub const SUMMARIZE: &str = "\
Example:
  systole summarize good.xplane.pb -o base.json";

pub const DOCTOR: &str = "\
Example:
  systole doctor t.xplane.pb";

pub const BISECT: &str = "\
CMD runs the program once and writes its profile into $SYSTOLE_PROFILE_DIR: jax.profiler.trace(os.environ[...]), or
systole_tpu.trace(). A point is slow if its steps differ from those of the good end by more than noise, and not from those of
the bad end. A point whose command fails is skipped. Your files stay as they are: commits are checked out elsewhere.

Examples:
  systole bisect --good v1.4 --bad main -- python train.py --steps 20
  systole bisect --good v1.4 --bad main --log search.jsonl -- sh build-and-run.sh        goes on where it was stopped
  systole bisect --over versions.txt --good jax==0.9.0 --bad jax==0.10.2 -- sh -c 'pip install {} && python train.py'

Exit code 11: the ends do not differ by more than noise, or what could not be measured hides the first slow point.";

pub const MEMORY: &str = "\
Examples:
  systole memory train.log                                     a log with RESOURCE_EXHAUSTED in it
  python train.py 2>&1 | systole memory -
  systole memory t.xplane.pb                                   the plan of the program that needs most
  systole memory train.log --format json | jq '.shortages[0].fixes'

Exit code 11: the log has no message about memory, or the capture does not tell what its programs need.";

pub const ENVIRONMENT: &str = "\
Examples:
  systole environment runs/                                    versions, flags, chip, commit, lock file
  systole environment runs/ --write --package my-model         record them beside the profile";

pub const WATCH: &str = "\
Examples:
  systole watch runs/                                          one line for each run as it appears
  systole watch runs/ --once --exit-on-regression              in cron or CI
  systole watch runs/ --budget systole.toml --format json | jq -c 'select(.status == \"FAIL\")'";

pub const WHATIF: &str = "\
Examples:
  systole whatif t.xplane.pb --ici 2x
  systole whatif t.xplane.pb --hide-collectives --op 'fusion.*' 0.5x";

pub const CAPTURE: &str = "\
The program must have called jax.profiler.start_server(9012), or what its framework has for it.

Examples:
  systole capture localhost:9012 -o logs/                      2 seconds, then the verdict
  systole capture w0:9012,w1:9012 --ms 5000 -o logs/           two hosts, one run
  systole capture localhost:9012 --retry 10 -o logs/           until a device was recorded
  systole capture localhost:9012 --option tpu_trace_mode=TRACE_ONLY_XLA -o logs/
  systole capture localhost:9012 --continuous start            then: --continuous snapshot -o logs/, --continuous stop";

pub const TOP: &str = "\
Examples:
  systole top localhost:9012
  systole top w0:9012,w1:9012 --level 2 --ms 5000
  systole top localhost:9012 --json --count 10 | jq .mxu_percent";

pub const ANONYMIZE: &str = "\
Examples:
  systole anonymize t.xplane.pb -o shared.xplane.pb --list kept.txt
  systole anonymize runs/ -o shared/ --replace mymodel,myproject
  systole pack shared/ -o shared.systole.zip";

pub const PACK: &str = "\
Examples:
  systole pack runs/ -o run.systole.zip                        the newest run
  systole open run.systole.zip                                 like analyze, doctor and all others";

pub const EXPORT: &str = "\
Examples:
  systole export t.xplane.pb -o tables/                       Parquet: slices, tracks, counters, flows, steps, ops …
  systole export runs/ --to csv --tables ops,steps -o tables/
  duckdb -c \"SELECT name, sum(self_ps) FROM 'tables/slices.parquet' WHERE track_kind = 'ops' GROUP BY name\"";

pub const QUERY: &str = "\
Times are picoseconds. --steps and --range choose what the tables of reports are about; slices have columns for both.

Examples:
  systole query t.xplane.pb --list                                      tables, columns, functions, ready-made queries
  systole query t.xplane.pb top-ops                                     a ready-made query
  systole query t.xplane.pb \"SELECT name, ms(sum(self_ps)) AS ms FROM op_slices GROUP BY name ORDER BY ms DESC LIMIT 9\"
  systole query t.xplane.pb \"SELECT * FROM hints\" --format json";

pub const EVENTS: &str = "\
A PATTERN is a name, has * for any letters, or is re: and a regular expression.

Examples:
  systole events t.xplane.pb --kind ops --group-by name                    ops by total time
  systole events t.xplane.pb --kind ops --group-by category,step
  systole events t.xplane.pb --name '*all-reduce*' --sort duration --limit 5
  systole events t.xplane.pb --kind host_thread --least 1ms --range 0..2s --format ndjson
  systole events t.xplane.pb --name 're:^fusion' --device 0 --columns start,dur,name,args --format csv";

pub const HLO: &str = "\
Examples:
  systole hlo t.xplane.pb                                      the programs of the capture
  systole hlo t.xplane.pb --op fusion.3 --radius 2             operands, users and body, with times
  systole hlo t.xplane.pb --op fusion.3 --graph svg > op.svg
  systole hlo t.xplane.pb --text --program jit_step | less
  systole hlo t.xplane.pb --find 'opcode:convolution shape:bf16[ train.py'
  systole hlo base.xplane.pb --diff cand.xplane.pb";

pub const EXPECT: &str = "\
Exit codes: 10 if an expectation is not met; with --strict 11 if one is unknown.

Examples:
  systole expect --init=expect.toml base.txt                   what is true now, as commented expectations
  systole expect expect.toml cand.txt                          a program: compiled.as_text()
  systole expect systole.toml logs/ -o junit=expect.xml        a profile, with steps and times";

pub const KERNELS: &str = "\
Examples:
  systole kernels t.xplane.pb --top 0                          all rows
  systole kernels t.xplane.pb --table kernels --format csv > kernels.csv";

pub const COMPILE: &str = "\
Logs hold what JAX prints with JAX_LOG_COMPILES=1; with JAX_EXPLAIN_CACHE_MISSES=1 they say why, and with
JAX_DEBUG_LOG_MODULES=jax._src.cache_key,jax._src.compiler which part of a cache key changed.

Examples:
  systole compile train.log                                    one program, from its log
  systole compile runs/                                        every run of a log directory
  systole compile monday.log tuesday.log --table compilations --format csv > compilations.csv
  systole compile --history runs.ndjson                        what systole analyze --history recorded

Exit code 11: a capture does not tell whether anything was compiled.";

pub const MCP: &str = "\
Examples:
  claude mcp add systole -- systole mcp --root ~/profiles
  npx @modelcontextprotocol/inspector --cli systole mcp --root runs/ --method tools/list";

pub const SERVE: &str = "\
Without --host only this machine is served. A TPU VM has no browser: forward the port from where you sit.

Examples:
  systole serve runs/                                          then open http://127.0.0.1:6007/
  ssh -L 6007:localhost:6007 tpu-vm systole serve logs/        a machine without a display
  systole serve gs://bucket/logs --port 0                      any free port
  systole serve runs/ --host 0.0.0.0                           others too, with the token that it prints
  curl -s http://127.0.0.1:6007/api/v1/runs | jq '.runs[].name'";

pub const RENDER: &str = "\
Examples:
  systole render t.xplane.pb --steps 3 -o step3.png --scale 2
  systole render t.xplane.pb --panel roofline > roofline.svg";
