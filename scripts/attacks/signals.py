"""Signals at random moments of every command."""

import ast
import json
import signal
import subprocess
import time

from .bench import OLD, TEMPORARY, Finding, check_end

COMMANDS = {
    "fit": ["fit", "long.csv", "--method", "independent", "--draws", "20000", "-o", "out"],
    "fit-auto": ["fit", "long.csv", "-o", "out"],
    "fuse": ["fuse", "model-auto.json", "long.csv", "-o", "out", "--output-format", "csv"],
    "fuse-full": ["fuse", "model-full.json", "three.csv", "-o", "out", "--output-format", "csv"],
    "density": ["density", "model-correlated.json", "long.csv", "-o", "out", "--output-format", "csv"],
    "evaluate": ["evaluate", "model-independent.json", "long.csv", "--bootstrap", "20000"],
    "compare": ["compare", "long.csv", "--methods", "auto,stacking", "--csv", "out"],
    "inspect": ["inspect", "model-correlated.json", "--plots", "out-plots"],
    "simulate": ["simulate", "--preset", "sim1", "--items-per-class", "300000", "-o", "out", "--output-format", "csv"],
    "demo": ["demo", "-o", "out-demo"],
    "aggregate": ["aggregate", "many-votes.csv", "-o", "out", "--output-format", "csv"],
    "aggregate-gibbs": ["aggregate", "many-votes.csv", "--method", "ibcc", "--inference", "gibbs", "-o", "out",
                        "--output-format", "csv"],
    "aggregate-ebcc": ["aggregate", "many-votes.csv", "--method", "ebcc", "-o", "out", "--output-format", "csv"],
    "fuse-votes": ["fuse", "votes-auto.json", "many-votes.csv", "-o", "out", "--output-format", "csv"],
    "compare-votes": ["compare", "many-votes.csv", "--votes", "--gold", "gold.csv", "--csv", "out"],
    "prevalence": ["prevalence", "model-auto.json", "long.csv"],
    "advise": ["advise", "model-auto.json", "long.csv"],
    "report": ["report", "model-auto.json", "long.csv", "-o", "out"],
    "export": ["export", "model-auto.json", "--python", "-o", "out"],
    "completions": ["completions", "bash"],
    "man": ["man"],
}


def attack_signal(bench, rng, name):
    """A signal, or two, at a random moment; then the output is the old or the new one, and nothing else is there."""
    words = COMMANDS[name]
    out = bench.folder / "out"
    out.write_bytes(OLD)
    before = bench.names() | {"out-plots", "out-demo"}
    child = bench.start(*words, seconds=600, stdout=subprocess.DEVNULL)
    time.sleep(rng.random() ** 2 * 3)
    sent = rng.choice([[signal.SIGINT], [signal.SIGTERM], [signal.SIGHUP], [signal.SIGKILL], [signal.SIGINT] * 2,
                       [signal.SIGINT, signal.SIGTERM]])
    for one in sent:
        child.send_signal(one)
        time.sleep(rng.choice([0, 0.001, 0.05]))
    try:
        _, err = child.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        raise Finding(f"did not stop within 60 s after {sent}: {words}") from None
    killed = signal.SIGKILL in sent
    # Before its handler is in place, a signal ends the program in the usual way.
    codes = [0, 130, *(-one for one in sent)]
    check_end(child.returncode, err, words, codes)
    if killed:
        for path in bench.folder.glob(f"{TEMPORARY}*"):
            path.unlink()
    bench.check_tidy(before)
    content = out.read_bytes() if out.exists() else b""
    if content != OLD and not is_complete(content, words):
        raise Finding(f"half-written output of {len(content)} bytes after {sent}: {words}")


def is_complete(content, words):
    if words[0] == "fit":
        return json.loads(content)["format"] == "consilience"
    if words[0] == "report":
        return content.endswith(b"</html>\n")
    if words[0] == "export":
        return content.endswith(b"\n") and ast.parse(content) is not None
    rows = content.count(b"\n") - 1
    fused = 30 if "three.csv" in words else 10_000 if "many-votes.csv" in words else 12_000
    expected = {"simulate": 900_000, "fuse": fused, "density": 12_000, "aggregate": 10_000}
    return rows == expected.get(words[0], rows) and content.endswith(b"\n")
