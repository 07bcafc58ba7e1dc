"""The programs of the guide's pages on data frames and on serving run, and give the model's probabilities."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import consilience as cs

DOCS = Path(__file__).parents[3] / "docs"
BLOCK = re.compile(r"^```\{code-block\} python\n:class: not-run\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def programs(page):
    """The programs of a page by their headings."""
    parts = re.split(r"^#+ (.+)$", (DOCS / page).read_text(), flags=re.MULTILINE)
    return {heading: block[1] for heading, text in zip(parts[1::2], parts[2::2]) if (block := BLOCK.search(text))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=300, random_state=1)
    P[::9, 1] = np.nan
    frame = pd.DataFrame(P.reshape(900, 6), columns=[f"c{k}_{j}" for k in (1, 2) for j in (1, 2, 3)])
    frame.assign(note="other").to_parquet(folder / "items.parquet", row_group_size=200)
    model = cs.AutoFusion().fit(frame, y)
    model.save(folder / "model.json")
    np.save(folder / "expected.npy", model.predict_proba(frame))
    return folder


@pytest.mark.parametrize("name", ["pyarrow", "Polars", "DuckDB", "Dask"])
def test_data_frames(name, folder):
    done = subprocess.run([sys.executable, "-c", programs("dataframes.md")[name]], cwd=folder, capture_output=True,
                          text=True)
    assert done.returncode == 0, done.stderr
    found = pd.read_parquet(folder / ("dask" if name == "Dask" else f"{name.lower()}.parquet"))
    assert list(found.columns) == ["fused_1", "fused_2", "fused_3"]
    np.testing.assert_array_equal(found.to_numpy(), np.load(folder / "expected.npy"))


@pytest.fixture(scope="module")
def client(folder):
    """A client of the service."""
    from fastapi.testclient import TestClient

    (folder / "service.py").write_text(programs("serving.md")["A web service"])
    names: dict = {"__name__": "service"}
    text = (folder / "service.py").read_text().replace('"model.json"', repr(str(folder / "model.json")))
    exec(compile(text, "service.py", "exec"), names)
    return TestClient(names["app"])


@pytest.mark.filterwarnings("ignore")  # of the client's own dependencies
def test_the_service(client, folder):
    frame = pd.read_parquet(folder / "items.parquet").drop(columns="note")
    items = [[[None if np.isnan(x) else x for x in source] for source in item]
             for item in frame.to_numpy()[:20].reshape(20, 2, 3).tolist()]
    answer = client.post("/fuse", json=items)
    assert answer.status_code == 200 and answer.json()["classes"] == ["1", "2", "3"]
    np.testing.assert_array_equal(answer.json()["probabilities"], np.load(folder / "expected.npy")[:20])
    refused = client.post("/fuse", json=[[[0.6, 0.2, 0.2], [0.5, -0.3, 0.8]]])
    assert refused.status_code == 422 and "item 0, classifier `c2`: negative" in json.dumps(refused.json())


@pytest.mark.filterwarnings("ignore")
def test_the_service_under_many_threads(client, folder):
    """Every thread gets the probabilities of its own items."""
    frame = pd.read_parquet(folder / "items.parquet").drop(columns="note").fillna(1 / 3)
    expected = cs.load(folder / "model.json").predict_proba(frame)
    wrong = []

    def ask(start):
        for i in range(start, start + 20):
            items = frame.to_numpy()[i:i + 5].reshape(5, 2, 3).tolist()
            found = client.post("/fuse", json=items).json()["probabilities"]
            if not np.array_equal(found, expected[i:i + 5]):
                wrong.append(i)

    threads = [threading.Thread(target=ask, args=(100 * k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_threads_share_an_estimator(folder):
    """Eight threads with tables of pandas, polars and pyarrow: the same numbers as alone, and no warnings."""
    model = cs.load(folder / "model.json")
    frame = pd.read_parquet(folder / "items.parquet")
    kinds = [frame, pl.from_pandas(frame), pa.Table.from_pandas(frame, preserve_index=False)]
    expected, wrong = np.load(folder / "expected.npy"), []

    def work(k):
        try:
            for i in range(60):
                kind = kinds[(k + i) % 3]
                part = kind.slice(i, 50) if hasattr(kind, "slice") else kind[i:i + 50]
                if not np.array_equal(model.predict_proba(part), expected[i:i + 50]):
                    wrong.append((k, i))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[:3]
