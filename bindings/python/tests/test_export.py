"""Exported models against `predict_proba`: ONNX in onnxruntime, and Python code without dependencies."""

import json
import os
import runpy
import subprocess
import sys

import numpy as np
import pytest

import consilience as cs
from consilience.estimators import ESTIMATORS

#: Methods that can be exported, with options of their estimators.
FITTED = {
    "opinion-pool": cs.OpinionPool(),
    "linear-pool": cs.LinearPool(),
    "greedy": cs.LinearPool(weights="greedy"),
    "log-pool": cs.LogPool(),
    "free": cs.LogPool(weights="free"),
    "independent": cs.IndependentFusion(inference="map"),
    "discounted": cs.DiscountedFusion(inference="map"),
    "stacking": cs.StackingFusion(),
    "auto": cs.AutoFusion(),
    "bcc": cs.BccFusion(),
}
#: Every number of sources from 2 to 10, with 2 to 26 classes.
SIZES = [(2, 2), (2, 26), (3, 5), (4, 17), (5, 11), (6, 3), (7, 8), (8, 4), (9, 6), (10, 2), (10, 26)]
PROGRAM = os.environ.get("CONSILIENCE_PROGRAM", "")


def outputs(n, K, J, rng, missing):
    """Random outputs with zeros, ties and sums that are off by 0.005; some or all sources missing."""
    P = rng.dirichlet(np.full(J, 0.7), size=(n, K))
    P[::5, 0] = 0.0
    P[::5, 0, 0] = 1.0
    P[1::7, -1] = 1 / J
    P[2::9] *= 0.995
    if missing:
        P[rng.random((n, K)) < 0.3] = np.nan
        P[-1] = np.nan
    return P


def positive(rng, *shape):
    return rng.gamma(2.0, 1.0, size=shape).tolist()


def parameters(method, K, J, rng):
    """Random parameters in the form of the model file."""
    spread = rng.normal(size=(K * J, K * J))
    fill = {"weight": 0.7, "mean": rng.normal(-2, 1, (K, J)).tolist(),
            "covariance": ((spread @ spread.T + (spread @ spread.T).T) / (2 * K * J) + 0.05 * np.eye(K * J)).tolist()}
    logistic = {"bias": rng.normal(size=J).tolist(), "weights": rng.normal(0, 0.3, (J, K, J)).tolist()}
    weights = rng.dirichlet(np.ones(K)).tolist()
    layer = {"bias": rng.normal(size=J).tolist(), "output_exponents": weights,
             "evidence_exponents": rng.normal(0, 0.2, K).tolist(),
             "probability_coefficients": rng.normal(0, 1, K).tolist()}
    plain = {"bias": rng.normal(size=J).tolist(), "output_exponents": weights}
    pool = {"bias": rng.normal(size=J).tolist(), "exponent": 1.3, "weights": weights}
    spread = rng.normal(size=(K, 2 * K))
    return {
        "opinion-pool": None,
        "linear-pool": {"weights": weights},
        "log-pool": {"weights": rng.normal(size=K).tolist()},
        "independent": {"alpha": positive(rng, K, J, J)},
        "discounted": {"alpha": positive(rng, K, J, J),
                       "covariance": (spread @ spread.T / 2 + (spread @ spread.T).T / 2).tolist()},
        "stacking": {"logistic": logistic, "fill": fill},
        "bcc": {"confusion": positive(rng, K, J, J)},
        "auto": {"members": [{"weight": 0.5, "rule": {"layer": layer}}, {"weight": 0.2, "rule": {"layer": plain}},
                             {"weight": 0.3, "rule": {"linear-pool": pool}}],
                 "alpha": positive(rng, K, J, J), "logistic": logistic, "logistic_share": 0.3, "fill": fill},
    }[method]


@pytest.fixture(params=SIZES, ids=lambda size: "{}x{}".format(*size))
def written(request, tmp_path):
    """A function that gives an estimator with random parameters, and its sizes."""
    K, J = request.param
    rng = np.random.default_rng(K * 100 + J)

    def make(method):
        file = {"format": "consilience", "version": 1, "method": method,
                "classifiers": [f"source {k}" for k in range(K)], "classes": [f"class {j}" for j in range(J)],
                "class_prior": rng.dirichlet(np.ones(J)).tolist(), "parameters": parameters(method, K, J, rng)}
        if file["parameters"] is None:
            del file["parameters"]
        (tmp_path / "model.json").write_text(json.dumps(file))
        return cs.load(tmp_path / "model.json")

    return make, K, J, rng


def session(model, folder, **options):
    """A checked file in onnxruntime."""
    onnx = pytest.importorskip("onnx", reason="`make test-reach` installs onnx and onnxruntime")
    runtime = pytest.importorskip("onnxruntime", reason="`make test-reach` installs onnx and onnxruntime")
    path = folder / "model.onnx"
    model.export_onnx(path, **options)
    loaded = onnx.load(path)
    onnx.checker.check_model(loaded, full_check=True)
    assert loaded.ir_version == 7 and [(o.domain, o.version) for o in loaded.opset_import] == [("", 13)]
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])


def score_of(model, folder):
    """The function of the Python module."""
    path = folder / "scorer.py"
    model.export_python(path)
    return runpy.run_path(str(path))["score"]


def agree(found, expected):
    assert np.abs(np.asarray(found) - expected).max() < 1e-12


METHODS = ["opinion-pool", "linear-pool", "log-pool", "independent", "discounted", "stacking", "bcc", "auto"]
REFUSED = [cs.CorrelatedFusion(inference="map"), cs.LogitNormalFusion(), cs.NormalMixtureFusion(components=2, chains=1)]


def test_every_method_is_exported_or_refused():
    known = {estimator._method for estimator in ESTIMATORS.values()}
    assert known == {*METHODS, *(model._method for model in REFUSED)}


@pytest.mark.parametrize("method", METHODS)
def test_onnx_agrees_at_every_size(method, written, tmp_path):
    make, K, J, rng = written
    model = make(method)
    run = session(model, tmp_path).run
    for missing in (False, True):
        P = outputs(40 if K * J < 100 else 12, K, J, rng, missing)
        probabilities, predicted = run(None, {"outputs": P})
        agree(probabilities, model.predict_proba(P))
        assert predicted.tolist() == model.predict(P).tolist()


@pytest.mark.parametrize("method", METHODS)
def test_python_code_agrees_at_every_size(method, written, tmp_path):
    make, K, J, rng = written
    model = make(method)
    score = score_of(model, tmp_path)
    for missing in (False, True):
        P = outputs(6 if K * J < 100 else 2, K, J, rng, missing)
        agree([score(x.tolist()) for x in P], model.predict_proba(P))


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
def test_fitted_models_agree(name, three, train, tmp_path):
    rng = np.random.default_rng(2)
    for P, y in (three, train):
        model = FITTED[name].fit(P, y)
        run, score = session(model, tmp_path).run, score_of(model, tmp_path)
        for missing in (False, True):
            X = outputs(50, *P.shape[1:], rng, missing)
            agree(run(None, {"outputs": X})[0], model.predict_proba(X))
            agree([score(x.tolist()) for x in X[:9]], model.predict_proba(X[:9]))


@pytest.mark.parametrize("values", ["log-probabilities", "logits", "odds"])
def test_other_kinds_of_values(values, three, tmp_path):
    P, y = three
    with np.errstate(divide="ignore"):
        X = {"log-probabilities": np.log(P), "logits": np.log(P) + 3.0, "odds": 1 / P}[values]
    model = cs.IndependentFusion(inference="map", values=values).fit(X, y)
    agree(session(model, tmp_path).run(None, {"outputs": X})[0], model.predict_proba(X))
    score = score_of(model, tmp_path)
    agree([score(x.tolist()) for x in X], model.predict_proba(X))


def test_the_class_prior_can_be_changed(train, tmp_path):
    P, y = train
    prior = [0.7, 0.2, 0.1]
    for model in (cs.AutoFusion().fit(P, y), cs.LogPool(weights=[0.5, 0.9]).fit(P, y)):
        expected = model.predict_proba(P, class_prior=prior)
        found = session(model, tmp_path).run(None, {"outputs": P, "class_prior": np.array(prior)})[0]
        agree(found, expected)
        assert np.abs(found - model.predict_proba(P)).max() > 0.01
        agree(score_of(model, tmp_path)(P[0], prior), expected[0])


def test_bad_outputs_have_no_result(train, tmp_path):
    P, y = train
    model = cs.IndependentFusion(inference="map").fit(P, y)
    run, score = session(model, tmp_path).run, score_of(model, tmp_path)
    bad = [[0.5, 0.5, 0.5], [1.2, -0.1, -0.1], [0.5, 0.52, -0.02], [0.0, 0.0, 0.0]]
    for row in bad:
        X = P[:3].copy()
        X[1, 0] = row
        with pytest.raises(cs.ConsilienceError):
            model.predict_proba(X)
        probabilities, predicted = run(None, {"outputs": X})
        assert np.isnan(probabilities).all(axis=1).tolist() == [False, True, False]
        assert predicted[1] == ""
        agree(probabilities[[0, 2]], model.predict_proba(X[[0, 2]]))
        with pytest.raises(ValueError, match="the output of 'c1' is not a distribution"):
            score(X[1].tolist())
    for wrong in (P[0, :1].tolist(), [[0.5, 0.5]] * 2):
        with pytest.raises(ValueError, match="expected 2 rows of 3 numbers"):
            score(wrong)
    agree(score({"c2": P[0, 1]}), model.predict_proba(np.array([[[np.nan] * 3, P[0, 1]]]))[0])


def test_metadata_name_everything(train, tmp_path):
    P, y = train
    model = cs.AutoFusion(classifiers=["résnet", 'a "b"']).fit(P, y)
    running = session(model, tmp_path)
    found = running.get_modelmeta().custom_metadata_map
    assert json.loads(found["classifiers"]) == ["résnet", 'a "b"']
    assert json.loads(found["classes"]) == ["1", "2", "3"]
    assert json.loads(found["class_prior"]) == [1 / 3] * 3
    assert (found["method"], found["values"], found["floor"]) == ("auto", "probabilities", "1e-6")
    assert found["software"] == f"consilience {cs.__version__}"
    assert [i.name for i in running.get_inputs()] == ["outputs"]
    assert [o.name for o in running.get_outputs()] == ["probabilities", "predicted"]
    assert score_of(model, tmp_path)({"résnet": P[0, 0], 'a "b"': P[0, 1]})


def test_32_bits_are_less_exact(train, tmp_path):
    P, y = train
    for model in (cs.IndependentFusion(inference="map").fit(P, y), cs.AutoFusion().fit(P, y)):
        X = outputs(50, 2, 3, np.random.default_rng(3), True)
        found = session(model, tmp_path, float32=True).run(None, {"outputs": X.astype(np.float32)})[0]
        assert found.dtype == np.float32
        assert 1e-9 < np.abs(found - model.predict_proba(X)).max() < 1e-4


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
def test_more_sources_than_a_table_can_list(tmp_path):
    rng = np.random.default_rng(1)
    P, y = outputs(200, 11, 2, rng, False), np.arange(200) % 2
    X = outputs(20, 11, 2, rng, True)
    stacked = cs.StackingFusion().fit(P, y)
    agree(session(stacked, tmp_path).run(None, {"outputs": X})[0], stacked.predict_proba(X))
    model = cs.DiscountedFusion(inference="map").fit(P, y)
    run = session(model, tmp_path).run
    agree(run(None, {"outputs": P})[0], model.predict_proba(P))
    assert np.isnan(run(None, {"outputs": X})[0]).any(axis=1).tolist() == np.isnan(X).any(axis=(1, 2)).tolist()


def test_one_source_alone(tmp_path):
    """Models of `meta:<classifier>` have one source, which cannot be fused if it is missing."""
    rng = np.random.default_rng(4)
    file = {"format": "consilience", "version": 1, "method": "meta:a", "classifiers": ["a"], "classes": ["x", "y", "z"],
            "class_prior": [0.2, 0.3, 0.5], "parameters": {"alpha": positive(rng, 1, 3, 3)}}
    (tmp_path / "model.json").write_text(json.dumps(file))
    model = cs.load(tmp_path / "model.json")
    P = outputs(40, 1, 3, rng, True)
    agree(session(model, tmp_path).run(None, {"outputs": P})[0], model.predict_proba(P))
    score = score_of(model, tmp_path)
    agree([score(x.tolist()) for x in P], model.predict_proba(P))


@pytest.mark.skipif(not PROGRAM, reason="CONSILIENCE_PROGRAM is not set")
def test_the_program_writes_the_same_files(train, tmp_path):
    model = cs.AutoFusion().fit(*train)
    model.save(tmp_path / "model.json")
    for export, name, options in ((model.export_onnx, "model.onnx", []), (model.export_python, "scorer.py", ["--python"])):
        export(tmp_path / name)
        command = [PROGRAM, "export", "model.json", *options, "-o", "own"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "own").read_bytes() == (tmp_path / name).read_bytes()
        (tmp_path / "own").unlink()


@pytest.mark.skipif(not PROGRAM, reason="CONSILIENCE_PROGRAM is not set")
def test_the_program_refuses_models_of_votes(tmp_path):
    votes = {"item": np.repeat(np.arange(9), 2), "source": np.tile(["a", "b"], 9), "label": np.arange(18) % 2}
    cs.VoteFusion().fit(votes).save(tmp_path / "votes.json")
    done = subprocess.run([PROGRAM, "export", "votes.json", "-o", "own"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "is a model of votes, which only `fuse`" in done.stderr
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize("model", REFUSED)
def test_methods_without_a_closed_form_say_so(model, train, tmp_path):
    model.fit(*train)
    for export in (model.export_onnx, model.export_python):
        with pytest.raises(cs.ConsilienceError, match=f"`{model._method}` cannot be exported: .*`auto`"):
            export(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_the_module_needs_nothing(train, tmp_path):
    P, y = train
    path = tmp_path / "scorer.py"
    model = cs.AutoFusion().fit(P, y)
    model.export_python(path)
    code = "import json, scorer; print(json.dumps(scorer.score(json.loads(input()))))"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
                         input=json.dumps(P[0].tolist()), capture_output=True, text=True, check=True)
    agree(json.loads(run.stdout), model.predict_proba(P[:1])[0])
