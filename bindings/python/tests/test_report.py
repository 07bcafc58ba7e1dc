"""The report: its numbers, its file, its form in a notebook."""

import json
import os
import re
import subprocess

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import consilience as cs

PROGRAM = os.environ.get("CONSILIENCE_PROGRAM", "")


@pytest.fixture(scope="module")
def data():
    """Three sources, of which the second is nearly a copy of the first; some outputs are missing."""
    P, y = cs.simulate("sim2", correlation=0.6, items_per_class=120, random_state=4)
    rng = np.random.default_rng(1)
    copy = P[:, :1] + rng.uniform(0, 0.01, P[:, :1].shape)
    P = np.concatenate([P, copy / copy.sum(axis=2, keepdims=True)], axis=1)[:, [0, 2, 1]]
    P[::7, 2] = np.nan
    return P, y


@pytest.fixture(scope="module")
def model(data):
    P, y = data
    return cs.AutoFusion(classifiers=["left", "copy", "right"]).fit(P[::2], y[::2])


@pytest.fixture(scope="module")
def page(data, model):
    P, y = data
    return cs.report(model, P[1::2], y[1::2], data="the test half")


def test_scores_are_those_of_evaluate(data, model, page):
    P, y = data
    scores = {row["method"]: row["overall"] for row in page.data["labelled"]["scores"]["methods"]}
    expected = {row["method"]: row["overall"] for row in model.evaluate(P[1::2], y[1::2])["methods"]}
    for method in ["auto", "classifier:left", "classifier:copy", "classifier:right"]:
        assert scores[method] == expected[method]


def test_confusion_and_class_table_agree_with_the_predictions(data, model, page):
    P, y = data
    places = {c: j for j, c in enumerate(model.classes_)}
    confusion = np.zeros((3, 3), int)
    for true, predicted in zip(y[1::2], model.predict(P[1::2]), strict=True):
        confusion[places[true], places[predicted]] += 1
    labelled = page.data["labelled"]
    assert labelled["confusion"] == confusion.tolist()
    for j, row in enumerate(labelled["classes"]):
        assert row["recall"]["value"] == pytest.approx(confusion[j, j] / confusion[j].sum())
        assert row["precision"] == pytest.approx(confusion[j, j] / confusion[:, j].sum())


def test_dropping_a_source_costs_what_its_missing_outputs_cost(data, model, page):
    """The mean difference of the log-losses, and its standard error, from predictions without the source."""
    P, y = data
    P, y = P[1::2], y[1::2]
    true = np.array([list(model.classes_).index(c) for c in y])
    items = np.arange(len(y))
    full = model.predict_proba(P)
    for k, row in enumerate(page.data["contributions"]):
        without = P.copy()
        without[:, k] = np.nan
        rest = model.predict_proba(without)
        costs = np.log(full[items, true]) - np.log(rest[items, true])
        assert row["drop_cost"]["mean"] == pytest.approx(costs.mean(), abs=1e-9)
        assert row["drop_cost"]["se"] == pytest.approx(costs.std(ddof=1) / np.sqrt(len(y)), abs=1e-9)
        assert row["drop_changes"] == np.mean(full.argmax(1) != rest.argmax(1))
    assert page.data["contributions"][2]["present"] == np.isfinite(P[:, 2, 0]).sum()


def test_redundancy_is_that_of_the_model_with_similar_sources_as_neighbours(model, page):
    found = page.data["redundancy"]
    assert found["effective_number"] == pytest.approx(model.n_effective_)
    assert found["interval"][0] <= found["effective_number"] <= found["interval"][1]
    order = found["order"]
    assert abs(order.index(0) - order.index(1)) == 1


def test_the_evidence_of_an_item_adds_up_to_its_odds(data, model, page):
    P, _ = data
    P = P[1::2]
    evidence = model.explain(P)
    fused = model.predict_proba(P)
    for case in page.data["disagreeing"] + page.data["surprising"]:
        a, b = case["versus"]
        item = case["item"]
        for source in case["sources"]:
            own = evidence[item, source["source"]]
            assert source["evidence"] == pytest.approx(own[a] - own[b], abs=1e-9)
        total = case["prior"] + case["shared"] + sum(source["evidence"] for source in case["sources"])
        assert total == pytest.approx(np.log(fused[item, a] / fused[item, b]), abs=1e-9)


def test_the_chosen_items_are_the_most_extreme(data, model, page):
    P, y = data
    P, y = P[1::2], y[1::2]

    def entropy(p):
        return -(p * np.log(p)).sum(axis=-1)

    disagreement = entropy(np.nanmean(P, axis=1)) - np.nanmean(entropy(P), axis=1)
    expected = np.sort(disagreement)[::-1][:8]
    assert [case["measure"] for case in page.data["disagreeing"]] == pytest.approx(expected.tolist(), abs=1e-6)
    true = [list(model.classes_).index(c) for c in y]
    losses = -np.log(model.predict_proba(P)[np.arange(len(y)), true])
    expected = np.sort(losses)[::-1][:8]
    assert [case["measure"] for case in page.data["surprising"]] == pytest.approx(expected.tolist())


def test_training_items_are_recognised_and_the_scores_called_optimistic(data, model, page):
    P, y = data
    own = cs.report(model, P[::2], y[::2])
    assert own.data["subject"]["is_training"]
    assert any("optimistic" in note["text"] for note in own.data["notes"])
    assert "optimistic" in own.page
    assert not page.data["subject"]["is_training"]
    assert not any("optimistic" in note["text"] for note in page.data["notes"])


def test_without_labels_the_page_has_no_scores(data, model):
    P, _ = data
    found = cs.report(model, P[1::2])
    assert found.data["kind"] == "unlabelled"
    assert "labelled" not in found.data
    assert "drop_cost" not in found.data["contributions"][0]
    shares = [row["by_model"]["value"] for row in found.data["shares"]["classes"]]
    assert shares == pytest.approx(model.predict_proba(P[1::2]).mean(axis=0).tolist())
    named = np.where(np.isnan(P[1::2, :, 0]), -1, np.nan_to_num(P[1::2]).argmax(axis=2))
    both = (named[:, 0] >= 0) & (named[:, 2] >= 0)
    same = (named[both, 0] == named[both, 2]).mean()
    assert found.data["agreement"]["pairs"][0][2] == pytest.approx(same)


def test_some_labels_are_enough(data, model):
    P, y = data
    some = [c if i % 4 == 0 else None for i, c in enumerate(y[1::2])]
    found = cs.report(model, P[1::2], some)
    assert found.data["kind"] == "labelled"
    assert found.data["subject"]["n_labelled"] == sum(c is not None for c in some)
    assert found.data["shares"]["classes"][0]["corrected"] is not None


@pytest.mark.skipif(not PROGRAM, reason="CONSILIENCE_PROGRAM is not set")
def test_the_command_line_prints_the_same_numbers(data, model, page, tmp_path):
    P, y = data
    model.save(tmp_path / "model.json")
    columns = [f"{s}_{c}" for s in model.classifiers_ for c in model.classes_]
    rows = [",".join(["label", *columns])]
    for outputs, label in zip(P[1::2], y[1::2], strict=True):
        cells = ["" if np.isnan(p) else repr(float(p)) for p in outputs.ravel()]
        rows.append(",".join([label, *cells]))
    (tmp_path / "test.csv").write_text("\n".join(rows))
    command = [PROGRAM, "report", "model.json", "test.csv", "--format", "json"]
    printed = json.loads(subprocess.run(command, cwd=tmp_path, check=True, capture_output=True).stdout)
    for part in ["verdict", "labelled", "redundancy", "contributions", "disagreeing", "surprising", "sample"]:
        assert printed[part] == page.data[part], part


def test_every_method_has_a_page(data):
    P, y = data
    for estimator in [cs.OpinionPool(), cs.LinearPool(), cs.LogPool(), cs.IndependentFusion(), cs.StackingFusion(),
                      cs.DiscountedFusion(), cs.BccFusion(), cs.CorrelatedFusion(inference="map")]:
        found = cs.report(estimator.fit(P[::2], y[::2]), P[1:80:2], y[1:80:2], items=2)
        assert found.data["labelled"]["gain"]["method"] == found.data["subject"]["method"]
        assert len(found.data["disagreeing"]) == 2


def test_a_classifier_of_features(tmp_path):
    X, y = load_iris(return_X_y=True)
    fitted = cs.FusionClassifier([("bayes", GaussianNB()), ("logistic", LogisticRegression(max_iter=1000))], cv=5)
    found = cs.report(fitted.fit(X[::2], y[::2]), X[1::2], y[1::2], title="Iris")
    assert found.data["subject"]["sources"] == ["bayes", "logistic"]
    assert "<title>Iris</title>" in found.page


def test_votes_have_a_page(tmp_path):
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=60)
    votes = [(f"q{i}", f"w{k}", "yn"[t] if rng.random() < 0.8 else "yn"[1 - t])
             for i, t in enumerate(truth) for k in range(5)]
    fitted = cs.VoteFusion().fit(votes)
    found = cs.report(fitted, title="Votes")
    assert found.data["kind"] == "votes"
    assert found.data["votes"]["n_votes"] == 300
    accuracies = [row["accuracy"]["value"] for row in found.data["votes"]["sources"]]
    assert accuracies == sorted(fitted.sources_["accuracy"], reverse=True)
    fitted.save(tmp_path / "votes.json")
    with pytest.raises(cs.ConsilienceError, match="fit it again"):
        cs.report(cs.load(tmp_path / "votes.json"))
    with pytest.raises(cs.ConsilienceError, match="leave `X` out"):
        cs.report(fitted, votes)


def test_a_notebook_shows_the_page_in_a_frame(page):
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert re.search(r'sandbox="allow-scripts"', shown)
    assert page.verdict in repr(page)


def test_the_file_is_written_whole_and_keeps_its_permissions(page, tmp_path):
    path = tmp_path / "report.html"
    page.save(path)
    assert path.read_text(encoding="utf-8") == page.page
    path.chmod(0o640)
    page.save(str(path))
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(FileNotFoundError):
        page.save(tmp_path / "missing" / "report.html")
    assert os.listdir(tmp_path) == ["report.html"]


def test_wrong_arguments_are_explained(data, model):
    P, y = data
    with pytest.raises(cs.ConsilienceError, match="must be a fitted fusion estimator, got str"):
        cs.report("model.json", P)
    with pytest.raises(cs.ConsilienceError, match="unknown label"):
        cs.report(model, P, ["nonsense"] * len(P))
    with pytest.raises(cs.ConsilienceError, match="`items` must not be negative"):
        cs.report(model, P, items=-1)
    with pytest.raises(cs.ConsilienceError, match="`X` is needed"):
        cs.report(model)


def test_the_verdict_and_the_scores_cover_every_baseline():
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=100, random_state=1)
    report = cs.report(cs.AutoFusion().fit(P[::2], y[::2]), P[1::2], y[1::2])
    gain = report.data["labelled"]["gain"]
    average = next(own["gain"] for own in gain["baselines"] if own["method"] == "average")
    assert f"The gain over the average is {average['mean']:.3f} ± {average['se']:.3f} nats" in report.verdict
    assert "`stacking`" in report.verdict
    scored = [own["method"] for own in report.data["labelled"]["scores"]["methods"]]
    assert gain["best_single"]["method"] in scored
