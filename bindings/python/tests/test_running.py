"""Progress, interruption, threads and warnings of fits."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import consilience as cs

FAST = dict(chains=4, draws=600)


@pytest.fixture
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also in tests that run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_convergence_warnings(train):
    with pytest.warns(cs.ConvergenceWarning):
        model = cs.IndependentFusion(chains=2, draws=4, warmup=0).fit(*train)
    assert not model.diagnostics_["converged"] and model.diagnostics_["warnings"]


def test_warnings_name_the_line_that_calls_fit(train):
    P, y = train
    few = dict(chains=2, draws=4, warmup=0)
    model = cs.IndependentFusion(**few)
    with pytest.warns(cs.ConvergenceWarning) as found:
        model.fit(P[::2], y[::2])
        model.partial_fit(P[1::2], y[1::2])
        cs.FusionClassifier([("nb", GaussianNB())], fusion=model).fit(P.reshape(180, 6), y)
    assert {warning.filename for warning in found} == {__file__}


def test_progress_callbacks_and_their_exceptions(train):
    calls = []
    model = cs.IndependentFusion(**FAST, progress=lambda *call: calls.append(call)).fit(*train)
    assert calls and all(0 <= done <= total for _, done, total in calls)
    assert calls[-1][1] == calls[-1][2]

    def refuse(task, done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        cs.CorrelatedFusion(draws=100_000, progress=refuse).fit(*train)
    assert pickle.loads(pickle.dumps(model.set_params(progress=None))).alpha_.shape == (2, 3, 3)


def test_ctrl_c_stops_a_fit(interruptible):
    """Between two of its 120 Dirichlet distributions."""
    def later():
        time.sleep(0.5)
        signal.raise_signal(signal.SIGINT)

    P = np.random.default_rng(0).dirichlet(np.ones(30), size=(90, 4))
    thread = threading.Thread(target=later)
    thread.start()
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        cs.IndependentFusion(draws=3000).fit(P, np.arange(90) % 30)
    thread.join()
    assert time.process_time() - start < 30  # it would take minutes


def test_ctrl_c_in_a_terminal_stops_a_fit(interruptible):
    """The signal comes from another process while the chains of the correlated model run."""
    program = """if True:
        import consilience as cs
        P, y = cs.simulate("sim2", correlation=0.5, items_per_class=60, random_state=1)
        show = lambda task, done, total: print(task, flush=True)
        cs.CorrelatedFusion(draws=1_000_000, progress=show).fit(P, y)
    """
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with subprocess.Popen([sys.executable, "-c", program], **pipes) as process:
        assert process.stdout.readline()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=30)[1]  # it would take minutes
    assert errors.endswith("KeyboardInterrupt\n"), errors


def test_tqdm_draws_every_task_to_its_end(train, capsys):
    cs.IndependentFusion(**FAST, progress="tqdm").fit(*train)
    drawn = capsys.readouterr().err
    assert "fitting Dirichlets: 100%" in drawn and "6/6" in drawn


def test_other_threads_run_while_fitting(train):
    """A thread that counts proceeds, because the interpreter lock is released."""
    count, stop = [0], threading.Event()

    def counting():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=counting)
    thread.start()
    try:
        before = count[0]
        cs.IndependentFusion(draws=20_000).fit(*train)
        assert count[0] > before + 5
    finally:
        stop.set()
        thread.join()


def test_the_number_of_threads_is_limited():
    """Threads of the process after a computation that uses all of them."""
    program = """if True:
        import warnings, os
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import consilience as cs
        cs.simulate("sim1", correlation=0.5, items_per_class=10, random_state=1)
        P, y = cs.simulate("sim1", correlation=0.5, items_per_class=10, random_state=1)
        cs.IndependentFusion(draws=10, warmup=10).fit(P, y)
        print(len(os.listdir("/proc/self/task")), [str(warning.message) for warning in caught])
    """
    environment = {**os.environ, "RAYON_NUM_THREADS": "100000"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True,
                          text=True, timeout=60, check=True)
    threads, warned = done.stdout.split(" ", 1)
    most = 4 * len(os.sched_getaffinity(0))
    assert int(threads) <= most + 20, done.stdout
    assert f"asks for 100000 threads; {most} are used" in warned, done.stdout
