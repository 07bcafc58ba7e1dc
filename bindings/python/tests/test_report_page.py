"""The report as a browser shows it: headless Chromium, which `scripts/setup.sh pages` installs."""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from urllib.parse import urlencode

import numpy as np
import pytest

import consilience as cs

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--enable-logging=stderr", "--virtual-time-budget=10000"]

EVIL = "</script><script>document.title='taken'</script>"
NAMES = ["left", "copy", "<img src=x onerror=alert(1)>"]
CLASSES = ["one & only", EVIL, "th`ree`"]


class Page(HTMLParser):
    """The elements of a page after its scripts have run."""

    def __init__(self, text):
        super().__init__()
        self.root, self.numbers, self.sections, self.tags, self.text = {}, [], {}, [], []
        self._number = None
        self._skipped = 0
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if tag == "html":
            self.root = attributes
        if tag == "section":
            self.sections[attributes["id"]] = attributes
        if "data-path" in attributes:
            self._number = attributes
        self._skipped += tag in ("script", "style")

    def handle_endtag(self, tag):
        self._skipped -= tag in ("script", "style")

    def handle_data(self, data):
        if self._number is not None:
            self.numbers.append((self._number["data-path"], int(self._number["data-digits"]), data))
            self._number = None
        if not self._skipped:
            self.text.append(data)


@pytest.fixture
def show(tmp_path):
    """Opens a page, with settings after the #."""
    def run(html, **settings):
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        address = path.as_uri() + ("#" + urlencode(settings) if settings else "")
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        page = Page(done.stdout)
        assert page.root.get("data-ready") == "yes", done.stdout[:2000]
        assert page.root.get("data-failures") is None
        assert "CONSOLE" not in done.stderr, done.stderr
        return page
    return run


def simulated():
    P, y = cs.simulate("sim2", correlation=0.6, items_per_class=90, random_state=4)
    copy = P[:, :1] ** 1.2
    P = np.concatenate([P, copy / copy.sum(axis=2, keepdims=True)], axis=1)[:, [0, 2, 1]]
    P[::7, 2] = np.nan
    return P, np.array(CLASSES, dtype=object)[np.unique(y, return_inverse=True)[1]]


@pytest.fixture(scope="module")
def data():
    return simulated()


@pytest.fixture(scope="module", params=["auto", "independent", "stacking"])
def model(request, data):
    P, y = data
    kind = {"auto": cs.AutoFusion, "independent": cs.IndependentFusion, "stacking": cs.StackingFusion}[request.param]
    return kind(classifiers=NAMES, classes=CLASSES).fit(P[::2], y[::2])


def value_at(data, path):
    for key in path.split("/"):
        data = data[int(key)] if isinstance(data, list) else data[key]
    return data


def check_numbers(page, data, least):
    """Every number that the page shows is that of the JSON, rounded to the digits shown."""
    assert len(page.numbers) >= least
    for path, digits, text in page.numbers:
        value = value_at(data, path)
        if value is None:
            assert text == "–", path
            continue
        shown = float(text.replace("−", "-").replace("+", "").replace(" ", ""))
        assert shown == pytest.approx(value, abs=0.5001 * 10.0**-digits), path


def test_the_numbers_of_a_labelled_page_are_those_of_the_json(data, model, show):
    P, y = data
    report = cs.report(model, P[1::2], y[1::2])
    page = show(report.page)
    check_numbers(page, report.data, least=60)
    assert {"gain", "redundancy", "contributions", "reliability", "classes", "try", "items"} <= set(page.sections)


def test_the_numbers_of_an_unlabelled_page_are_those_of_the_json(data, model, show):
    P, _ = data
    report = cs.report(model, P[1::2])
    page = show(report.page)
    check_numbers(page, report.data, least=18)
    assert {"contributions", "agreement", "shares", "try", "items"} <= set(page.sections)
    assert not {"gain", "reliability", "classes"} & set(page.sections)


@pytest.mark.parametrize(("place", "prior"), [(0, 0.3), (1, 0.95), (2, 0.004)])
def test_the_prior_slider_gives_the_values_of_the_library(data, model, show, place, prior):
    P, y = data
    P, y = P[1::2], y[1::2]
    report = cs.report(model, P, y)
    item = 8 + place  # among them one with a missing output
    page = show(report.page, prior=prior, **{"class": CLASSES[place]}, item=item, cost=4, costly=CLASSES[1])
    own = np.array(report.data["subject"]["class_prior"])
    rest = np.arange(3) != place
    new = np.where(rest, own * (1 - prior) / own[rest].sum(), prior)
    fused = model.predict_proba(P, class_prior=new)
    dataset = page.sections["try"]
    assert json.loads(dataset["data-prior"]) == pytest.approx(new.tolist(), abs=1e-12)
    assert json.loads(dataset["data-fused"]) == pytest.approx(fused[item - 1].tolist(), abs=1e-9)
    costs = np.array([[0, 1, 1], [4, 0, 4], [1, 1, 0]])  # true class, decision
    decisions = (fused @ costs).argmin(axis=1)
    assert json.loads(dataset["data-decisions"]) == np.bincount(decisions, minlength=3).tolist()


def test_pools_have_no_prior_slider(data, show):
    P, y = data
    report = cs.report(cs.LinearPool(classifiers=NAMES, classes=CLASSES).fit(P[::2], y[::2]), P[1::2], y[1::2])
    assert not report.data["sample"]["follows_prior"]
    page = show(report.page, prior=0.9)
    assert not any(attributes.get("id") == "prior" for _, attributes in page.tags)
    fused = json.loads(page.sections["try"]["data-fused"])
    assert fused == pytest.approx(report.data["sample"]["parts"][0][0], abs=1e-12)


def test_names_are_only_text(data, show):
    P, y = data
    model = cs.AutoFusion(classifiers=NAMES, classes=CLASSES).fit(P[::2], y[::2])
    report = cs.report(model, P[1::2], y[1::2], title=EVIL)
    page = show(report.page)
    tags = [tag for tag, _ in page.tags]
    assert "img" not in tags
    assert tags.count("script") == 2
    assert EVIL in "".join(page.text)
    assert report.page.count("</script>") == 2


def test_nothing_is_loaded(data, show):
    """The policy of the page forbids all loading; no element has an address."""
    P, y = data
    model = cs.AutoFusion(classes=CLASSES).fit(P[::2], y[::2])
    page = show(cs.report(model, P[1::2], y[1::2]).page)
    policy = next(a for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy["content"].startswith("default-src 'none'")
    assert not [a for _, a in page.tags if "src" in a or "href" in a and not a["href"].startswith("#")]


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
def test_many_classes_and_sources(show):
    rng = np.random.default_rng(5)
    n, k, j = 300, 14, 23
    y = rng.integers(j, size=n)
    logits = rng.normal(size=(n, k, j)) + 2.5 * (np.arange(j) == y[:, None, None])
    P = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    names = [f"class number {c} with a long name" for c in range(j)]
    y = np.array(names, dtype=object)[y]
    model = cs.StackingFusion(classes=names).fit(P[::2], y[::2])
    report = cs.report(model, P[1::2], y[1::2])
    check_numbers(show(report.page), report.data, least=60)


@pytest.mark.filterwarnings("ignore::consilience.DataWarning")
def test_one_source_and_few_items(show):
    P = np.array([[[0.8, 0.2]], [[0.3, 0.7]], [[0.6, 0.4]], [[0.1, 0.9]]])
    model = cs.IndependentFusion().fit(P, ["a", "b", "a", "b"])
    report = cs.report(model, P[:1], ["a"])
    page = show(report.page)
    check_numbers(page, report.data, least=5)
    assert "contributions" not in page.sections


def test_the_numbers_of_a_page_of_votes_are_those_of_the_json(show):
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=80)
    votes = [(f"<b>{i}", f"w{k}", CLASSES[t if rng.random() < 0.4 + 0.1 * k else rng.integers(3)])
             for i, t in enumerate(truth) for k in range(5)]
    gold = {f"<b>{i}": CLASSES[t] for i, t in enumerate(truth[:20])}
    report = cs.report(cs.VoteFusion().fit(votes, gold))
    page = show(report.page)
    check_numbers(page, report.data, least=20)
    assert {"sources", "shares", "agreement", "items"} == set(page.sections)
    assert "b" not in [tag for tag, _ in page.tags]
