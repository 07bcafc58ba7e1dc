"""Rows per CPU second of fusing a large Parquet table in different tools, in one run.

    python experiments/reach/rows.py --program target/release/consilience --spark .venv-spark --sail .venv-sail

needs an optimised program, and the optimised wheel in this Python (with polars, duckdb, pyarrow and dask) and in the
environments of Spark and Sail. Every tool reads the table, fuses with `auto`, and writes Parquet: the probabilities alone,
but the program writes all its columns. The probabilities of all tools must be those of the program. CPU time is that of all processes that the tool starts, from
start to end, so that start-up, reading and writing count.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

READ = """import consilience as cs, sys
model = cs.load("model.json"); names = list(model.get_feature_names_out())
"""
PYARROW = READ + """import pyarrow as pa, pyarrow.parquet as pq
with pq.ParquetFile("items.parquet") as items, pq.ParquetWriter(
        "pyarrow.parquet", pa.schema([(n, pa.float64()) for n in names])) as out:
    for batch in items.iter_batches(batch_size=100_000):
        out.write_batch(pa.record_batch(list(model.predict_proba(batch).T.copy()), names=names))
"""
POLARS = READ + """import polars as pl
pl.scan_parquet("items.parquet").map_batches(lambda part: pl.DataFrame(model.predict_proba(part), schema=names),
    streamable=True, schema={n: pl.Float64 for n in names}).sink_parquet("polars.parquet")
"""
DUCKDB = READ + """import duckdb, pyarrow as pa
schema = pa.schema([(n, pa.float64()) for n in names])
batches = duckdb.connect().sql("FROM 'items.parquet'").to_arrow_reader(100_000)
fused = pa.RecordBatchReader.from_batches(schema, (
    pa.record_batch(list(model.predict_proba(batch).T.copy()), schema) for batch in batches))
duckdb.sql("COPY (FROM fused) TO 'duckdb.parquet'")
"""
DASK = READ + """import dask.dataframe as dd, pandas as pd
dd.read_parquet("items.parquet").map_partitions(
    lambda part: pd.DataFrame(model.predict_proba(part), columns=names, index=part.index),
    meta={n: float for n in names}).to_parquet("dask.parquet")
"""
SCORE = """from consilience import spark as on_spark
on_spark.score(spark.read.parquet("items.parquet"), "model.json", add=["probabilities"], keep=[]).write.parquet(NAME)
"""
SAIL = """from pysail.spark import SparkConnectServer
server = SparkConnectServer(port=0); server.start(background=True)
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(f"sc://127.0.0.1:{server.listening_address[1]}").getOrCreate()
NAME = "sail.parquet"
""" + SCORE
SPARK = """import sys, os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
NAME = "spark.parquet"
""" + SCORE + "spark.stop()\n"


def cpu_seconds(command, folder):
    """CPU time of a command with all processes of its session, looked at ten times a second; and the time by the clock."""
    start, seen = time.monotonic(), {}
    process = subprocess.Popen(command, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == process.pid:
                seen[path.parent.name] = int(fields[11]) + int(fields[12])
        time.sleep(0.1)
    if process.returncode:
        sys.exit(f"{command[:2]} failed")
    return sum(seen.values()) / os.sysconf("SC_CLK_TCK"), time.monotonic() - start


def check(path, expected):
    """The probabilities are those of the program, row by row where the tool keeps the order of rows."""
    import numpy as np
    import pyarrow.parquet as pq

    for name in ("fused_1", "fused_2", "fused_3"):
        found, wanted = (pq.read_table(file, columns=[name]).column(name).to_numpy() for file in (path, expected))
        if not np.array_equal(found, wanted) and not np.array_equal(np.sort(found), np.sort(wanted)):
            sys.exit(f"{path.name}: other probabilities than those of the program")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--spark", type=Path, help="virtual environment with pyspark")
    parser.add_argument("--sail", type=Path, help="virtual environment with pysail")
    parser.add_argument("--rows", type=int, default=10_000_000)
    given = parser.parse_args()
    program = given.program.resolve()
    ways = {"command line": [program, "fuse", "model.json", "items.parquet", "-o", "fused.parquet", "--quiet"]}
    ways |= {name: [sys.executable, "-c", text] for name, text in
             {"pyarrow": PYARROW, "Polars": POLARS, "DuckDB": DUCKDB, "Dask": DASK}.items()}
    if given.sail:
        ways["Sail"] = [given.sail.absolute() / "bin/python", "-c", SAIL]
    if given.spark:
        ways["Spark"] = [given.spark.absolute() / "bin/python", "-c", SPARK]
    with tempfile.TemporaryDirectory() as folder:
        simulate = [program, "simulate", "--preset", "sim2", "--correlation", "0.5", "--quiet", "--items-per-class"]
        subprocess.run([*simulate, "1000", "-o", "train.parquet"], cwd=folder, check=True)
        subprocess.run([*simulate, str(-(-given.rows // 3)), "-o", "items.parquet", "--seed", "2"], cwd=folder, check=True)
        subprocess.run([program, "fit", "train.parquet", "-o", "model.json", "--quiet"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        write = csv.writer(sys.stdout)
        write.writerow(["way", "cpu_seconds", "seconds", "rows_per_cpu_second", "load"])
        for name, command in ways.items():
            cpu, clock = cpu_seconds(command, folder)
            write.writerow([name, f"{cpu:.1f}", f"{clock:.1f}", f"{given.rows / cpu:.3g}", f"{os.getloadavg()[0]:.0f}"])
            sys.stdout.flush()
            if name != "command line":
                check(Path(folder, f"{name.lower()}.parquet"), Path(folder, "fused.parquet"))


if __name__ == "__main__":
    main()
