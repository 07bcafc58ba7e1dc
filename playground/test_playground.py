"""The playground in a real browser: its numbers are the library's, and nothing leaves the page.

Run by `make test-pages`, which builds the page and the wheel first. CONSILIENCE_PROGRAM names the program.
"""

import json
import math
import os
import shutil
import subprocess
from pathlib import Path

import consilience as cs
import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PAGE = Path(__file__).parent / "dist" / "index.html"
PROGRAM = os.environ["CONSILIENCE_PROGRAM"]
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1280,1600",
]
# The page and its parts; anything else would leave the machine.
LOCAL = ("file:", "blob:", "data:", "about:")
SECONDS = 60


@pytest.fixture
def browser(tmp_path):
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.get("about:blank")  # the tab in which the browser starts loads pages of its own
    driver.get_log("performance")
    yield driver
    problems = [entry["message"] for entry in driver.get_log("browser")]
    requests = [
        event["params"]["request"]["url"]
        for event in (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
        if event["method"] == "Network.requestWillBeSent"
    ]
    driver.quit()
    assert problems == []
    assert requests and [url for url in requests if not url.startswith(LOCAL)] == []


def opened(browser, fragment=""):
    browser.get(PAGE.as_uri() + fragment)
    until(browser, "return document.body.dataset.ready")
    return browser


def until(browser, script):
    WebDriverWait(browser, SECONDS).until(lambda driver: driver.execute_script(script))


def fused(browser):
    cells = browser.find_elements(By.CSS_SELECTOR, "#numbers tbody tr:last-child td")
    return [float(cell.get_attribute("data-value")) for cell in cells]


def move(browser, slider, value):
    """Moves a slider as a hand would, and waits for the answer."""
    before = browser.execute_script("return document.body.dataset.ready")
    browser.execute_script(
        "const s = document.getElementById(arguments[0]); s.value = arguments[1];"
        "s.dispatchEvent(new Event('input', {bubbles: true}))", slider, value)
    until(browser, f"return document.body.dataset.ready !== {before!r}")


def by_the_package(outputs, others, excess, r):
    """The fused distribution from the densities of the Python package."""
    def log_density(true_class):
        alpha = [[others[k] + excess[k] * (j == true_class) for j in range(3)] for k in (0, 1)]
        delta = [r * min(a, b) for a, b in zip(*alpha)]
        return float(np.squeeze(cs.CorrelatedDirichlet(alpha, delta).log_pdf(outputs)))

    logs = np.array([log_density(j) for j in range(3)])
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


# Figure 2 of the paper, by an independent tanh-sinh integration.
@pytest.mark.parametrize(("r", "probability"), [(0.1, 0.767977), (0.5, 0.674075), (0.9, 0.612434)])
def test_first_view_is_figure_2(browser, r, probability):
    move(opened(browser), "r", r)
    assert fused(browser)[0] == pytest.approx(probability, abs=1e-5)


def test_sliders_give_the_values_of_the_library(browser):
    opened(browser, "#outputs=0.7,0.2,0.25,0.6&excess=1.5,0.8&others=4,10&r=0.3")
    outputs = np.array([[0.7, 0.2, 0.1], [0.25, 0.6, 0.15]])
    for r in (0.3, 0.0, 0.62, 0.9):
        move(browser, "r", r)
        assert fused(browser) == pytest.approx(by_the_package(outputs, (4, 10), (1.5, 0.8), r), abs=1e-9)
    move(browser, "q0", 3)
    assert fused(browser) == pytest.approx(by_the_package(outputs, (4, 10), (3, 0.8), 0.9), abs=1e-9)


def assert_same(page, program, place="model"):
    """Equal but for the last digits: processors and the browser round exponentials differently."""
    if isinstance(program, dict):
        assert list(page) == list(program), place
        for key, value in program.items():
            assert_same(page[key], value, f"{place}.{key}")
    elif isinstance(program, list):
        assert len(page) == len(program), place
        for index, value in enumerate(program):
            assert_same(page[index], value, f"{place}[{index}]")
    elif isinstance(program, float):
        assert math.isclose(page, program, rel_tol=1e-9, abs_tol=1e-9), (place, page, program)
    else:
        assert page == program, place


def table(path, rows):
    generator = np.random.default_rng(5)
    truth = generator.integers(3, size=rows)
    shared = generator.normal(size=(rows, 3))
    scores = [1.2 * np.eye(3)[truth] + shared + 0.5 * generator.normal(size=(rows, 3)) for _ in range(2)]
    outputs = np.hstack([np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) for s in scores])
    lines = ["label,one_a,one_b,one_c,two_a,two_b,two_c"]
    lines += [",".join(["abc"[t], *map(repr, row.tolist())]) for t, row in zip(truth, outputs)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_dropped_table_gives_the_model_of_the_program(browser, tmp_path):
    path = table(tmp_path / "outputs.csv", 150)
    opened(browser).find_element(By.ID, "file").send_keys(str(path))
    until(browser, "return document.body.dataset.fitted === 'outputs.csv'")
    browser.switch_to.frame("report")
    until(browser, "return document.title.includes('outputs.csv')")
    browser.switch_to.default_content()
    assert "150 items" in browser.find_element(By.ID, "status").text
    subprocess.run([PROGRAM, "fit", path, "-o", tmp_path / "model.json"], check=True, capture_output=True)
    page = json.loads(browser.execute_script("return window.fittedModel"))
    assert_same(page, json.loads((tmp_path / "model.json").read_text()))


def test_bad_table_names_row_and_column(browser, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("label,one_a,one_b\na,0.7,0.3\nb,0.2,oops\n")
    opened(browser).find_element(By.ID, "file").send_keys(str(path))
    until(browser, "return document.body.dataset.fitted")
    status = browser.find_element(By.ID, "status").text
    assert "bad.csv" in status and "oops" in status and "one_b" in status
