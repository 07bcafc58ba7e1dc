"""Independent fusion of a million items in memory, two classifiers, three classes, one thread:
ours against a vectorised numpy version, in alternating rounds. Prints rows per CPU second of
both and their ratio. Where numpy has AVX-512 at hand, it is measured with and without.

    python benches/fuse_vs_numpy.py [rounds]
"""

import os
import statistics
import subprocess
import sys
import time

WITHOUT_AVX512 = "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR X86_V4"

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402  (the thread limits must come first)

ROWS, CLASSIFIERS, CLASSES = 1_000_002, 2, 3
BLOCK = 4096
COMMAND = "cargo run --quiet --release --package consilience --no-default-features --example fuse_million"


def numpy_fuse(x, coefficients, constants, fused):
    """Class-major blocks that stay in the cache: the best of the layouts tried. Both sides write
    into memory that is there already."""
    for start in range(0, len(x), BLOCK):
        block = x[start : start + BLOCK].reshape(-1, CLASSIFIERS * CLASSES)
        joint = coefficients @ np.log(block.T) + constants[:, None]
        joint -= joint.max(axis=0)
        np.exp(joint, out=joint)
        joint /= joint.sum(axis=0)
        fused[start : start + BLOCK] = joint.T


def numpy_round(arguments):
    start = time.process_time()
    numpy_fuse(*arguments)
    return ROWS / (time.process_time() - start)


def our_round(process):
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main(rounds):
    generator = np.random.default_rng(1)
    alpha = np.full((CLASSES, CLASSES), 8.0) + 4.0 * np.eye(CLASSES)
    x = generator.dirichlet(alpha[0], size=(ROWS, CLASSIFIERS))
    coefficients, constants = np.hstack([alpha - 1.0] * CLASSIFIERS), np.zeros(CLASSES)
    arguments = x, coefficients, constants, np.empty((ROWS, CLASSES))
    process = subprocess.Popen(COMMAND.split(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if process.stdout.readline().strip() != "ready":
        sys.exit("error: the Rust side did not start")
    ours, theirs = [], []
    for _ in range(rounds):
        theirs.append(numpy_round(arguments))
        ours.append(our_round(process))
    process.stdin.close()
    process.wait()
    ours, theirs = statistics.median(ours), statistics.median(theirs)
    vectors = "without AVX-512" if "NPY_DISABLE_CPU_FEATURES" in os.environ else "as it comes"
    print(f"consilience               {ours / 1e6:6.1f} million rows per CPU second (median of {rounds})")
    print(f"numpy {np.__version__:<6} {vectors:<15} {theirs / 1e6:4.1f} million rows per CPU second")
    print(f"ratio                     {ours / theirs:6.1f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
    if "NPY_DISABLE_CPU_FEATURES" not in os.environ:
        environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": WITHOUT_AVX512, "PYTHONWARNINGS": "ignore"}
        subprocess.run([sys.executable, *sys.argv], env=environment, check=True)
