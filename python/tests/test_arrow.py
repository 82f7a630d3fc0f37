"""Other libraries read the tables without help."""

import pytest
from conftest import RECOMPILE, command

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def total(run):
    return run.query("SELECT sum(self_ps) AS self_ps, count(*) AS rows FROM slices")[0]


def test_pyarrow(run, total):
    table = pyarrow.table(run.slices())
    assert table.num_rows == total["rows"]
    assert sum(table["self_ps"].to_pylist()) == total["self_ps"]
    assert table.schema.metadata[b"systole.table"] == b"slices"
    assert table.schema.field("dur_ps").metadata[b"unit"] == b"picoseconds"
    assert table["device"].null_count > 0
    for name in run.tables:
        assert pyarrow.table(run.table(name)).to_pylist() == run.table(name).to_pylist(), name
    stream = run.table("ops").__arrow_c_stream__()
    del stream  # nobody reads it


def test_parquet_files_hold_what_tables_hold(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in run.tables:
        run.table(name).write(tmp_path / f"{name}.parquet", constants={"of_table": name})
        table = parquet.read_table(tmp_path / f"{name}.parquet")
        assert table.to_pylist() == [{"of_table": name, **row} for row in run.table(name).to_pylist()], name


def test_pandas(run, total):
    pytest.importorskip("pandas")
    frame = run.slices().to_pandas()
    assert frame["self_ps"].sum() == total["self_ps"]
    grouped = frame[frame["track_kind"] == "ops"].groupby("name", observed=True)["self_ps"].sum()
    ops = run.query("SELECT name, sum(self_time_ps) AS ps FROM ops WHERE occurrences > 0 GROUP BY name")
    assert grouped.to_dict() == {row["name"]: row["ps"] for row in ops}


def test_polars(run, total):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(run.slices())
    assert frame["self_ps"].sum() == total["self_ps"]


def test_duckdb(run, total, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    relation = run.sql("SELECT name, sum(self_ps) AS ps FROM slices WHERE track_kind = 'ops' GROUP BY name ORDER BY name")
    ours = run.query("SELECT name, sum(self_ps) AS ps FROM slices WHERE track_kind = 'ops' GROUP BY name ORDER BY name")
    assert relation.fetchall() == [(row["name"], row["ps"]) for row in ours]
    categories = "SELECT category, sum(self_ps) AS ps FROM {} GROUP BY category ORDER BY category"
    ours = run.query(categories.format("op_slices"))
    assert run.sql(categories.format("OP_SLICES")).fetchall() == [(row["category"], row["ps"]) for row in ours]
    assert run.sql("SELECT count(*) FROM Ops JOIN steps ON true").fetchall()
    command("export", RECOMPILE, "-o", tmp_path)
    count, ps = duckdb.sql(f"SELECT count(*), sum(self_ps) FROM '{tmp_path}/slices.parquet'").fetchall()[0]
    assert (count, ps) == (total["rows"], total["self_ps"])
    arrow = pyarrow.ipc.open_file(str(command_arrow(tmp_path))).read_all()
    assert arrow.num_rows == len(run.table("ops"))


def command_arrow(folder):
    command("export", RECOMPILE, "--to", "arrow", "--tables", "ops", "-o", folder)
    return folder / "ops.arrow"


def test_duckdb_reads_from_divided_files_what_sqlite_reads_from_the_trace(run, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    command("export", RECOMPILE, "--partition", "run,host,device", "-o", tmp_path)
    seen = 0
    for folder in sorted(tmp_path.iterdir()):
        table, files = run.table(folder.name), f"'{folder}/**/*.parquet'"
        source = f"read_parquet({files}, hive_partitioning = true, hive_types_autocast = false)"
        numbers = [column.name for column in table.columns if column.type == "int"]
        sums = ", ".join(["count(*)", *(f'sum("{name}")' for name in numbers), *(f'count("{name}")' for name in numbers)])
        ours = list(run.query(f"SELECT {sums} FROM {folder.name}")[0].values())
        theirs = [None if value is None else int(value) for value in duckdb.sql(f"SELECT {sums} FROM {source}").fetchall()[0]]
        assert theirs == ours, folder.name
        seen += 1
    assert seen > 8
    by_device = "SELECT device, count(*), sum(self_ps) FROM {} GROUP BY device ORDER BY device NULLS FIRST"
    slices = f"read_parquet('{tmp_path}/slices/**/*.parquet', hive_partitioning = true)"
    theirs = [(device, count, int(ps)) for device, count, ps in duckdb.sql(by_device.format(slices)).fetchall()]
    assert theirs == [tuple(row.values()) for row in run.query(by_device.format("slices"))]
    assert theirs[0][0] is None and theirs[1][0].startswith("/device:TPU:")
