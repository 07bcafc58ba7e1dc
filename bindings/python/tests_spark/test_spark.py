"""Data frames of Spark and Sail: the numbers are those of the command line."""

import os
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ENGINE, OUTPUTS, ROWS, command
from engines import kill

import consilience as cs
from consilience import spark as on_spark
from consilience._spark_sample import quotas
from consilience._spark_workers import Process, one_thread

FUSED = ["fused_1", "fused_2", "fused_3"]


def sorted_by_id(df):
    return df.toArrow().sort_by("id")


def matrix(table, names):
    return np.stack([table.column(name).to_numpy() for name in names], axis=1)


# Scoring


@pytest.mark.parametrize("method", ["auto", "independent"])
def test_scores_are_those_of_the_command_line(method, frame, models):
    model = models / f"{method}.json"
    command("fuse", model, models / "whole.parquet", "--explain", "-o", models / "fused.parquet")
    expected = pq.read_table(models / "fused.parquet")
    found = sorted_by_id(on_spark.score(
        frame, model, add=["probabilities", "predicted", "entropy", "error", "explanation"], keep=["id"]))
    assert found.column("id").to_pylist() == list(range(ROWS))
    assert found.column_names == ["id"] + [n for n in expected.column_names if n not in ("label", *OUTPUTS)]
    assert found.column("predicted").to_pylist() == expected.column("predicted").cast(pa.string()).to_pylist()
    same = [*FUSED, "error", *(name for name in found.column_names if name.startswith("evidence_"))]
    np.testing.assert_array_equal(matrix(found, same), matrix(expected, same))
    np.testing.assert_allclose(matrix(found, ["entropy"]), matrix(expected, ["entropy"]), rtol=0, atol=1e-15)


def test_columns_on_request(frame, models):
    model = cs.load(models / "auto.json")
    assert on_spark.score(frame, model).columns == [*frame.columns, *FUSED, "predicted", "entropy", "error"]
    some = on_spark.score(frame, model, add=["predicted"], keep=["id"], class_prior=[0.98, 0.01, 0.01]).limit(100)
    assert some.columns == ["id", "predicted"]
    rows = some.collect()
    again = on_spark.score(frame, model, add=["predicted"], keep=["id"]).where("id < 1000").collect()
    assert sum(row.predicted == "1" for row in rows) / len(rows) > sum(r.predicted == "1" for r in again) / len(again)
    with pytest.raises(cs.ConsilienceError, match="already has the columns `fused_1`"):
        on_spark.score(on_spark.score(frame, model), model)
    with pytest.raises(cs.ConsilienceError, match="columns `c2_3` are missing"):
        on_spark.score(frame.drop("c2_3"), model)
    with pytest.raises(cs.ConsilienceError, match="unknown entries `probability`"):
        on_spark.score(frame, model, add=["probability"])
    with pytest.raises(cs.ConsilienceError, match="needs all items at once"):
        on_spark.score(frame, model, class_prior="estimate")
    with pytest.raises(cs.ConsilienceError, match="must be a fitted fusion estimator"):
        on_spark.score(frame, cs.AutoFusion())


def test_classes_keep_their_type(spark, tmp_path):
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=50, random_state=1)
    table = pa.table(dict(zip(OUTPUTS, P.reshape(-1, 6).T)) | {"label": y.astype(int)})
    pq.write_table(table, tmp_path / "few.parquet")
    frame = spark.read.parquet(str(tmp_path / "few.parquet"))
    model = on_spark.fit(frame, "bcc")
    assert model.classes_.tolist() == [1, 2, 3]
    found = on_spark.score(frame, model, add=["predicted"]).toArrow().column("predicted")
    assert found.type == pa.int64() and found.to_pylist() == model.predict(P).tolist()


# Fitting


@pytest.mark.parametrize("method", ["independent", "bcc"])
def test_fits_from_statistics_are_those_of_the_command_line(method, frame, models):
    assert on_spark.fit(frame, method).model_.to_json() == (models / f"{method}.json").read_text()
    scattered = frame.repartition(7, "id")
    assert on_spark.fit(scattered, method).model_.to_json() == (models / f"{method}.json").read_text()


def test_weights_and_parameters(frame, table):
    weighted = on_spark.fit(frame, cs.IndependentFusion(inference="map", class_prior="uniform"), weight="weight")
    here = cs.IndependentFusion(inference="map", class_prior="uniform")
    here.fit(table.select(OUTPUTS), table.column("label"), table.column("weight").to_numpy())
    assert weighted.model_.to_json() == here.model_.to_json()


def test_few_rows_are_all_used(frame, table):
    few = frame.where("id < 2000")
    here = cs.StackingFusion().fit(table.slice(0, 2000).select(OUTPUTS), table.column("label")[:2000])
    found = on_spark.fit(few, "stacking")
    P = table.slice(0, 2000).select(OUTPUTS)
    np.testing.assert_allclose(found.predict_proba(P), here.predict_proba(P), atol=1e-9)


def test_a_sample_gives_every_class_its_weight(frame):
    """Class 3 is made rare: it has 1 % of the rows, but a twelfth of the sample."""
    rare = frame.where("label IS NULL OR label <> '3' OR id % 100 < 2")
    counts = {row.label: row["count"] for row in rare.groupBy("label").count().collect()}
    drawn = quotas(counts, 3000)
    model = on_spark.fit(rare, cs.StackingFusion(random_state=5), sample_size=3000)
    labelled = sum(n for label, n in counts.items() if label is not None)
    shares = [counts[label] / labelled for label in "123"]
    np.testing.assert_allclose(model._file["class_prior"], shares, rtol=0.02)
    assert drawn["3"] == min(counts["3"], 250) and sum(n for c, n in drawn.items() if c) <= 3300
    if ENGINE == "sail":  # its order of rows within a partition varies
        return
    again = on_spark.fit(rare, cs.StackingFusion(random_state=5), sample_size=3000)
    assert again.model_.to_json() == model.model_.to_json(), "the same seed draws the same rows"


def test_quotas():
    """By hand: 1000 of 10,000 rows; class c has 0.5 %, and gets a quarter of 1000 / 3 or all of its 50 rows."""
    assert quotas({"a": 8000, "b": 1950, "c": 50, None: 5000}, 1000) == {"a": 800, "b": 195, "c": 50, None: 500}
    assert quotas({"a": 8000, "b": 1900, "c": 100}, 1000) == {"a": 800, "b": 190, "c": 84}
    assert quotas({"a": 5, "b": 7, None: 10**9}, 1000) == {"a": 5, "b": 7, None: 1000}
    assert quotas({"a": 5, "b": 7}, 1000) == {"a": 5, "b": 7}


# Evaluating


def test_scores_with_standard_errors(frame, models, table):
    model = cs.load(models / "auto.json")
    for options in ({}, {"class_prior": "uniform"}, {"class_prior": [0.2, 0.3, 0.5], "score_items": True}):
        found = on_spark.evaluate(frame, model, **options)
        expected = model.evaluate(table.select(OUTPUTS), table.column("label"), bootstrap=0, **options)
        for name in ("n_items", "n_unlabelled", "class_counts", "classes", "weighting"):
            assert found[name] == expected[name]
        for own, other in zip(found["methods"], expected["methods"]):
            assert own["method"] == other["method"]
            for a, b in zip([own["overall"], *own["per_class"]], [other["overall"], *other["per_class"]]):
                for name in a:
                    assert a[name]["value"] == pytest.approx(b[name]["value"], abs=1e-11), (own["method"], name)
    p = model.predict_proba(table.select(OUTPUTS))
    labels = table.column("label").to_pylist()
    losses = np.array([-np.log(p[i, "123".index(label)]) for i, label in enumerate(labels) if label])
    overall = on_spark.evaluate(frame, model)["methods"][0]["overall"]
    assert overall["log_loss"]["se"] == pytest.approx(losses.std(ddof=1) / np.sqrt(len(losses)), rel=1e-9)
    hits = np.array([p[i].argmax() == "123".index(label) for i, label in enumerate(labels) if label])
    assert overall["accuracy"]["se"] == pytest.approx(hits.std(ddof=1) / np.sqrt(len(hits)), rel=1e-9)


def test_no_labels_to_score(frame, models):
    with pytest.raises(cs.ConsilienceError, match="no row has a label in column `label`"):
        on_spark.evaluate(frame.where("label IS NULL"), models / "auto.json")


# Errors and progress


@pytest.fixture(scope="module")
def wrong(spark, table, tmp_path_factory):
    """One partition; row 40 has a negative probability, row 70 an unknown label."""
    path = tmp_path_factory.mktemp("wrong") / "wrong.parquet"
    values, labels = table.column("c2_3").to_pylist()[:100], table.column("label").to_pylist()[:100]
    values[40], labels[70] = -3.0, "x"
    few = table.slice(0, 100).set_column(table.column_names.index("c2_3"), "c2_3", pa.array(values))
    pq.write_table(few.set_column(1, "label", pa.array(labels)), path)
    return spark.read.parquet(str(path)).coalesce(1)


def test_errors_name_partition_row_and_column(wrong, models):
    model = cs.load(models / "auto.json")
    negative = r"partition 0, row 40, columns `c2_1`, `c2_2`, `c2_3`: negative probability -3"
    with pytest.raises(Exception, match=negative):  # of the engine: score is lazy
        on_spark.score(wrong, model).collect()
    with pytest.raises(cs.ConsilienceError, match=f"^{negative}\nhint: [^\n]*$"):
        on_spark.fit(wrong.where("label IS NULL OR label <> 'x'"), "bcc")
    unknown = "^partition 0, row 70, column `label`: unknown label `x`; the classes are `1`, `2` and `3`$"
    with pytest.raises(cs.ConsilienceError, match=unknown):
        on_spark.evaluate(good(wrong), model)
    with pytest.raises(cs.ConsilienceError, match="class `3`|columns for"):
        on_spark.fit(wrong, cs.BccFusion(classes=["1", "2"]))
    with pytest.raises(cs.ConsilienceError, match="unknown method `best`"):
        on_spark.fit(wrong, "best")
    with pytest.raises(cs.ConsilienceError, match="columns `truth` are missing"):
        on_spark.fit(wrong, label="truth")
    with pytest.raises(cs.ConsilienceError, match="row 0, column `weight`: a weight must be finite and not negative"):
        on_spark.fit(good(wrong).where("label <> 'x'").selectExpr(*OUTPUTS, "label", "-weight AS weight"), "bcc",
                     weight="weight")


def good(wrong):
    """The same rows with a missing output in place of the wrong one."""
    return wrong.selectExpr("id", "label", "weight", *OUTPUTS[:3], *(
        f"CASE WHEN id = 40 THEN NULL ELSE {name} END AS {name}" for name in OUTPUTS[3:]))


def test_progress(frame):
    calls = []
    on_spark.fit(frame, "bcc", progress=lambda *call: calls.append(call))
    assert {task for task, _, _ in calls} == {"counting labels", "fitting `bcc`"}
    assert all(0 <= done <= total for _, done, total in calls) and calls[-1][1:] == (1, 1)


# Workers


def test_tasks_compute_on_one_thread(monkeypatch):
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    one_thread(Process.this())
    assert "RAYON_NUM_THREADS" not in os.environ, "the driver decides for itself"
    monkeypatch.setenv("RAYON_NUM_THREADS", "3")
    one_thread(Process("elsewhere", 1))
    assert os.environ["RAYON_NUM_THREADS"] == "3"
    monkeypatch.delenv("RAYON_NUM_THREADS")
    one_thread(Process("elsewhere", 1))
    assert os.environ["RAYON_NUM_THREADS"] == "1"
    os.environ.pop("RAYON_NUM_THREADS")


@pytest.mark.skipif(ENGINE != "cluster", reason="there are no workers to kill")
def test_nothing_is_lost_or_doubled_if_a_worker_is_killed(engine, frame, models, tmp_path):
    spark, workers = engine

    def slowly(batches):  # inside, so that it travels with the job
        for batch in batches:
            time.sleep(0.3)
            yield batch

    before = sorted_by_id(on_spark.score(frame, models / "auto.json", keep=["id"]))
    slow = frame.repartition(40, "id").mapInArrow(slowly, frame.schema)
    scored = on_spark.score(slow, models / "auto.json", keep=["id"])
    spark.sparkContext.setJobGroup("killed", "scoring while a worker is killed")
    tracker, killed = spark.sparkContext.statusTracker(), []

    def kill_one():
        while not killed:
            time.sleep(0.05)
            for stage in filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds())):
                if stage.numTasks == 40 and 5 <= stage.numCompletedTasks <= 30:
                    kill(workers[0])
                    killed.append(stage.numCompletedTasks)

    thread = threading.Thread(target=kill_one, daemon=True)
    thread.start()
    scored.write.parquet(str(tmp_path / "scored"))
    thread.join(timeout=10)
    assert killed, "the job ended before a worker could be killed"
    after = pq.read_table(tmp_path / "scored").sort_by("id")
    assert after.equals(before.cast(after.schema))
