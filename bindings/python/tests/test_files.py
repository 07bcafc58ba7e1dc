"""Saved and loaded estimators are the same, bit for bit, with every option; forked processes compute."""

import json
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import consilience as cs

pytestmark = [
    pytest.mark.filterwarnings("ignore::consilience.DataWarning"),
    pytest.mark.filterwarnings("ignore::consilience.ConvergenceWarning"),
]

DIRICHLETS = [dict(alpha_prior="paper"), dict(prior_items=5.0), dict(inference="map")]
CHAINS = [dict(chains=2, draws=150, warmup=20), dict(keep_draws=20, draws=150)]
OWN = {
    cs.AutoFusion: [],
    cs.OpinionPool: [],
    cs.LinearPool: [dict(weights="equal"), dict(weights=[1.0, 3.0]), dict(weights=np.array([2.0, 1.0]))],
    cs.LogPool: [dict(weights="free"), dict(weights=(0.5, 2.0))],
    cs.IndependentFusion: [*DIRICHLETS, *CHAINS],
    cs.DiscountedFusion: [*DIRICHLETS, dict(chains=2, draws=150)],
    cs.CorrelatedFusion: [
        dict(inference="map"), dict(inference="map", structure="full"), dict(inference="map", resolution=0.05),
        dict(inference="map", delta_prior="uniform"), dict(inference="map", alpha_prior="paper"),
        dict(inference="map", prior_items=3.0),
        dict(chains=2, draws=100, warmup=20, keep_draws=10),
    ],
    cs.StackingFusion: [dict(ridge=0.3), dict(ridge="cv"), dict(balance="weights")],
    cs.LogitNormalFusion: [dict(covariance_items=9.0), dict(mean_items=2.0)],
    cs.NormalMixtureFusion: [
        dict(components=2, chains=1), dict(weight_items=2.0, chains=1), dict(covariance_share=0.3, chains=1),
        dict(covariance_items=20.0, mean_items=2.0, warmup=10, draws=2, every=2, chains=1),
    ],
    cs.BccFusion: [dict(prior_decisions=0.5)],
}
COMMON = {
    "default": {},
    "values": dict(values="logits"),
    "log values": dict(values="log-probabilities"),
    "odds": dict(values="odds"),
    "layout": dict(layout="positive"),
    "positive logits": dict(layout="positive", values="logits"),
    "first class": dict(layout="positive", pos_label=np.int64(0)),
    "floor": dict(floor=1e-3),
    "sum tolerance": dict(sum_tolerance=0.05),
    "flat": dict(n_classifiers=2),
    "names": dict(classifiers=["first", "second"]),
    "order of classes": dict(classes=[2, 1, 0]),
    "uniform": dict(class_prior="uniform"),
    "given": dict(class_prior=np.array([0.4, 0.3, 0.3])),
    "estimate": dict(class_prior="estimate"),
    "seed": dict(random_state=7),
    "generator": dict(random_state=np.random.RandomState(3)),
}
QUICK = {cs.IndependentFusion: dict(inference="map"), cs.DiscountedFusion: dict(inference="map"),
         cs.CorrelatedFusion: dict(inference="map"), cs.NormalMixtureFusion: dict(components=2, chains=1, warmup=5)}
CASES = [(make, options) for make, own in OWN.items() for options in own]
CASES += [(make, {**QUICK.get(make, {}), **options}) for make in OWN for options in COMMON.values()]
IDS = [f"{make.__name__}-{'-'.join(options) or 'default'}" for make, options in CASES]


@pytest.fixture(scope="module")
def data():
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=12, random_state=1)
    return P, y.astype(int) - 1


def values_of(P, options):
    """The numbers that the options ask for."""
    if options.get("layout") == "positive":
        P = P[:, :, 0] / (P[:, :, 0] + P[:, :, 1])
        return np.log(P / (1 - P)) if options.get("values") == "logits" else P
    kinds = {"logits": np.log(P) + 1, "log-probabilities": np.log(P), "odds": 1 / P}
    values = kinds.get(options.get("values"), P)
    return values.reshape(len(P), -1) if "n_classifiers" in options else values


def same_parameters(a, b):
    for name, value in a.get_params().items():
        other = b.get_params()[name]
        if name == "random_state" and isinstance(value, np.random.RandomState):
            assert isinstance(other, int) or other is None
        else:
            np.testing.assert_equal(np.asarray(other).tolist(), np.asarray(value).tolist(), err_msg=name)


@pytest.mark.parametrize(("make", "options"), CASES, ids=IDS)
def test_files_and_pickles_give_the_same_estimator(make, options, data, tmp_path):
    P, y = data
    X = values_of(P, options)
    if options.get("layout") == "positive":
        y = np.where(y == 0, 1, 0)
    estimated = str(options.get("class_prior")) == "estimate"
    labels = [None if i % 4 == 0 else c for i, c in enumerate(y)] if estimated else y
    model = make(**options).fit(X, labels)
    model.save(tmp_path / "m.json")
    file = cs.load(tmp_path / "m.json")
    unpickled = pickle.loads(pickle.dumps(model))
    for other in (file, unpickled):
        assert type(other) is type(model)
        assert other.classes_.dtype == model.classes_.dtype
        assert_array_equal(other.classes_, model.classes_)
        assert_array_equal(other.classifiers_, model.classifiers_)
        assert_array_equal(other.predict_proba(X), model.predict_proba(X))
        assert_array_equal(other.predict(X), model.predict(X))
        assert other.evaluate(X, labels, bootstrap=0) == model.evaluate(X, labels, bootstrap=0)
    same_parameters(model, file)
    file.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@pytest.mark.parametrize("labels", [
    np.array([3, 6, 9]), np.array(["a", "b", "c"]), np.array([1.0, 2.0, 3.0]), np.array(["a", "b", "c"], dtype=object),
    np.array([1, 2, 3], dtype=np.int16),
], ids=lambda labels: str(labels.dtype))
def test_labels_keep_their_type(labels, data, tmp_path):
    P, y = data
    model = cs.OpinionPool(classes=labels).fit(P, labels[y])
    model.save(tmp_path / "m.json")
    loaded = cs.load(tmp_path / "m.json")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.evaluate(P, labels[y], bootstrap=0) == model.evaluate(P, labels[y], bootstrap=0)
    assert loaded.score(P, labels[y]) == model.score(P, labels[y])


def test_frames_are_read_alike(data, tmp_path):
    P, y = data
    frame = pd.DataFrame(P.reshape(len(P), -1), columns=[f"{k}_{j}" for k in "ab" for j in range(3)])
    model = cs.AutoFusion().fit(frame, y)
    model.save(tmp_path / "m.json")
    loaded = cs.load(tmp_path / "m.json")
    assert_array_equal(loaded.feature_names_in_, model.feature_names_in_)
    assert_array_equal(loaded.predict_proba(frame[frame.columns[::-1]]), model.predict_proba(frame))


def test_files_are_replaced_as_a_whole(data, tmp_path):
    """Another name of the old file keeps its content; a symbolic link stays, and so do permissions."""
    P, y = data
    model = cs.OpinionPool().fit(P, y)
    votes = pd.DataFrame({"item": [1, 1, 2, 2], "source": list("abab"), "label": list("xyxx")})
    page = cs.report(model, P, y)
    for write in (model.save, model.export_python, model.export_onnx, page.save, cs.VoteFusion().fit(votes).save):
        old, link, target = (tmp_path / name for name in ("old", "link", "target"))
        target.write_text("old")
        target.chmod(0o640)
        os.link(target, old)
        link.symlink_to(target)
        write(link)
        assert old.read_text() == "old" and link.is_symlink()
        assert target.read_bytes() != b"old" and target.stat().st_mode & 0o777 == 0o640
        assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "old", "target"]
        with pytest.raises(FileNotFoundError, match="nowhere/x"):
            write(tmp_path / "nowhere/x")
        for path in (old, link, target):
            path.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo") or not os.path.exists("/proc/self/fd"), reason="no pipes with names here")
def test_pipes_are_written_and_not_replaced(tmp_path):
    """Devices themselves are not tried: a program that replaces them spoils the machine."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    cs.Report({}, "page").save(tmp_path / "pipe")
    assert os.read(reader, 100) == b"page" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    code = "import consilience as cs; cs.Report({}, 'page').save('/proc/self/fd/1')"
    with open(tmp_path / "log", "w") as log:
        log.write("before ")
        log.flush()
        subprocess.run([sys.executable, "-c", code], stdout=log, check=True)
    assert (tmp_path / "log").read_text() == "before page"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="no memory file system here")
def test_files_below_dev_are_replaced_too(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = os.path.join(folder, "page")
        for _ in range(2):
            cs.Report({}, "page").save(path)
        assert pathlib.Path(path).read_text() == "page" and os.listdir(folder) == ["page"]


@pytest.mark.skipif(not hasattr(os, "getgroups"), reason="no groups here")
def test_a_replaced_file_keeps_its_group_and_is_not_readable_before(tmp_path, monkeypatch):
    groups = [0, 1] if os.getuid() == 0 else os.getgroups()
    group = next((own for own in groups if own != os.getgid()), None)
    if group is None:
        pytest.skip("one group only")
    path = tmp_path / "page"
    path.write_text("old")
    os.chown(path, -1, group)
    path.chmod(0o600)
    modes = []
    monkeypatch.setattr(os, "fsync", lambda number: modes.append(os.fstat(number).st_mode & 0o777))
    cs.Report({}, "page").save(path)
    assert path.read_text() == "page" and path.stat().st_gid == group and modes == [0o600]


@pytest.mark.parametrize("change", [
    {"class": []}, {"classes": 1}, {"classes": {"type": "str", "values": "x"}}, {"parameters": {"floor": "x"}},
    {"classes": {"type": "S2000000000", "values": ["a", "b", "c"]}}, {"classes": {"type": "int8", "values": [1, 2, 999]}},
    {"classes": {"type": "str", "values": ["a"]}}, {"parameters": {"bad": 1}}, {"parameters": []}, {"classifiers": 7},
    {"parameters": {"values": 0.5}}, {"classifiers": []}, {"n_features_in": "x"}, {"feature_names_in": "x"},
], ids=str)
def test_odd_estimators_in_files_are_refused(change, data, tmp_path):
    P, y = data
    path = tmp_path / "m.json"
    cs.OpinionPool().fit(P, y).save(path)
    file = json.loads(path.read_text())
    file["estimator"] |= change
    path.write_text(json.dumps(file))
    if change == {"class": []}:  # of an unknown class: read like a file of the command line
        assert cs.load(path).predict_proba(P).shape == (len(P), 3)
        return
    with pytest.raises(cs.ConsilienceError, match="m.json: not a usable model: `estimator`: "):
        cs.load(path)


def fused_in_a_fork(queue, model, X):
    queue.put(model.predict_proba(X))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_a_forked_process_computes(data):
    """It once waited for threads that only its parent has."""
    P, y = data
    X = np.tile(P, (3000, 1, 1))
    model = cs.AutoFusion().fit(P, y)
    expected = model.predict_proba(X)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=fused_in_a_fork, args=(queue, model, X))
    child.start()
    try:
        assert_array_equal(queue.get(timeout=60), expected)
        child.join(timeout=10)
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()
