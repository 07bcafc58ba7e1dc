"""A session of the engine in CONSILIENCE_ENGINE, and a table of CONSILIENCE_ROWS rows in many files."""

import os
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import session

import consilience as cs

ENGINE = os.environ.get("CONSILIENCE_ENGINE", "local")
ROWS = int(os.environ.get("CONSILIENCE_ROWS", 20_000))
PROGRAM = os.environ["CONSILIENCE_PROGRAM"]
OUTPUTS = [f"c{k}_{j}" for k in (1, 2) for j in (1, 2, 3)]


def command(*arguments):
    """Runs the command line."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def engine(tmp_path_factory):
    with session(ENGINE, tmp_path_factory.mktemp("engine")) as found:
        yield found


@pytest.fixture(scope="session")
def spark(engine):
    return engine[0]


@pytest.fixture(scope="session")
def table():
    """Outputs of two sources for three classes; some outputs and some labels are missing."""
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=-(-ROWS // 3), random_state=1)
    order = np.random.default_rng(0).permutation(len(y))[:ROWS]
    P, y = P[order], y[order]
    P[::7, 1] = np.nan
    labels = pa.array([None if i % 11 == 0 else label for i, label in enumerate(y)])
    values = [pa.array(column, from_pandas=True) for column in P.reshape(-1, 6).T]
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    return pa.table([pa.array(np.arange(len(y))), labels, pa.array(weights), *values],
                    names=["id", "label", "weight", *OUTPUTS])


@pytest.fixture(scope="session")
def folder(tmp_path_factory, table):
    """The table in one file for the command line and in 20 files for the engine."""
    folder = tmp_path_factory.mktemp("data")
    pq.write_table(table.drop_columns(["id", "weight"]), folder / "whole.parquet")
    (folder / "parts").mkdir()
    size = -(-len(table) // 20)
    for i in range(20):
        pq.write_table(table.slice(i * size, size), folder / f"parts/{i:02}.parquet")
    return folder


@pytest.fixture(scope="session")
def frame(spark, folder):
    return spark.read.parquet(str(folder / "parts"))


@pytest.fixture(scope="session")
def models(folder):
    """Model files of the command line."""
    for method in ("auto", "independent", "bcc"):
        data = folder / "whole.parquet"
        if method == "auto":  # of fewer rows: it needs all of them at once
            data = folder / "few.parquet"
            pq.write_table(pq.read_table(folder / "whole.parquet").slice(0, 3000), data)
        command("fit", data, "--method", method, "-o", folder / f"{method}.json")
    return folder
