"""Time of fits on hard inputs, and the time from an interruption to the end: limits.py PROGRAM [DATA ...] > limits.csv

Every fit runs on one thread. If it has not ended after 10 s of processor time, it is interrupted (SIGINT), and the
processor time until it ends is measured. Standard library only.
"""

import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE = 10.0
METHODS = ["auto", "correlated", "stacking", "independent", "discounted", "logit-normal", "normal-mixture", "bcc",
           "opinion-pool", "linear-pool", "log-pool"]
VOTE_METHODS = ["auto", "ibcc", "ibcc --inference gibbs", "ebcc", "ueda", "dawid-skene", "majority"]


def softmax(logits):
    weights = [math.exp(x) for x in logits]
    return [w / sum(weights) for w in weights]


def typical(rng, label, classes, _):
    return softmax([rng.gauss(0, 1) + (j == label) for j in range(classes)])


def one_hot(rng, label, classes, _):
    hit = label if rng.random() < 0.8 else rng.randrange(classes)
    return [float(j == hit) for j in range(classes)]


def constant(rng, label, classes, _):
    return [1 / classes] * classes


def tied(rng, label, classes, first):
    return first or typical(rng, label, classes, None)


# Name: sources, classes, items, outputs.
TABLES = {
    "60 sources": (60, 3, 300, typical),
    "20 sources": (20, 3, 300, typical),
    "200 classes": (2, 200, 1000, typical),
    "30 classes": (2, 30, 600, typical),
    "one-hot": (2, 3, 300, one_hot),
    "one-hot, 60 sources": (60, 3, 300, one_hot),
    "ties": (2, 3, 300, tied),
    "constant": (2, 3, 300, constant),
    "constant, 60 sources": (60, 3, 300, constant),
}


def write_table(path, sources, classes, items, output):
    rng = random.Random(3)
    with open(path, "w") as file:
        names = [f"s{k}_c{j}" for k in range(sources) for j in range(classes)]
        file.write("label," + ",".join(names) + "\n")
        for i in range(items):
            label, cells, first = i % classes, [], None
            for _ in range(sources):
                first = output(rng, label, classes, first)
                cells += [repr(p) for p in first]
            file.write(f"c{label}," + ",".join(cells) + "\n")


def write_votes(path, sources, classes, items, same):
    rng = random.Random(4)
    with open(path, "w") as file:
        file.write("item," + ",".join(f"s{k}" for k in range(sources)) + "\n")
        for i in range(items):
            votes = [i % classes if rng.random() < 0.7 else rng.randrange(classes) for _ in range(sources)]
            votes = [0] * sources if same else votes
            file.write(f"q{i}," + ",".join(f"c{vote}" for vote in votes) + "\n")


def processor_seconds(pid):
    words = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def measure(program, folder, words):
    """Outcome, processor seconds of the fit, and those after an interruption."""
    errors = Path(folder) / "errors"
    with open(errors, "wb") as file:
        child = subprocess.Popen([program, *words, "--threads", "1", "-q"], cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=file,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    interrupted = None
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            break
        used = processor_seconds(child.pid)
        if interrupted is None and used > PATIENCE:
            child.send_signal(signal.SIGINT)
            interrupted = used
        time.sleep(0.02)
    used = usage.ru_utime + usage.ru_stime
    code = os.waitstatus_to_exitcode(status)
    message = errors.read_text().strip().replace("\n", " ")
    if interrupted is not None:
        return f"interrupted ({code})", interrupted, used - interrupted, ""
    return ("ended" if code == 0 else f"refused ({code})"), used, None, message if code else ""


def main():
    program = str(Path(sys.argv[1]).resolve())
    print("data,method,outcome,cpu_seconds,cpu_seconds_after_interruption,message")
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for name, shape in TABLES.items():
            write_table(Path(folder) / f"{name}.csv", *shape)
            runs += [(name, method, ["fit", f"{name}.csv", "--method", method, "-o", "m.json"]) for method in METHODS]
        for name, shape in {"votes, 60 sources": (60, 3, 5000, False), "votes, 200 classes": (5, 200, 5000, False),
                            "votes, all the same": (10, 3, 5000, True)}.items():
            write_votes(Path(folder) / f"{name}.csv", *shape)
            start = ["aggregate", f"{name}.csv", "--layout", "wide-labels", "-o", "l.csv", "--classes",
                     ",".join(f"c{j}" for j in range(shape[1])), "--method"]
            runs += [(name, method, [*start, *method.split()]) for method in VOTE_METHODS]
        for name, method, words in runs:
            if sys.argv[2:] and name not in sys.argv[2:]:
                continue
            outcome, used, after, message = measure(program, folder, words)
            after = "" if after is None else f"{after:.2f}"
            message = message.replace('"', "'")[:160]
            print(f'"{name}","{method}","{outcome}",{used:.2f},{after},"{message}"', flush=True)


if __name__ == "__main__":
    main()
