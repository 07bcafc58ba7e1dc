"""Writes special.csv: special functions by mpmath with 50 digits, rounded to 20."""

import sys
from pathlib import Path

import mpmath as mp

mp.mp.dps = 50
DIGITS = 20
ROOT = mp.findroot(mp.digamma, 1.4616)


def positive_points():
    """Tiny to huge, dense where branches meet, and the neighbourhood of digamma's root."""
    yield from (10.0**k for k in range(-8, 7))
    yield from (k / 8 for k in range(1, 96))
    yield from (9.999, 9.9999999, 10.0, 10.0000001, 123.456, 1e5 + 0.1)
    for k in range(1, 16):
        yield float(ROOT) + 10.0**-k
        yield float(ROOT) - 10.0**-k
    for k in (1e-3, 1e-6, 1e-9, 1e-12):
        yield from (1 + k, 1 - k, 2 + k, 2 - k)


def probabilities():
    yield from (10.0**-k for k in range(1, 301, 13))
    yield from (k / 64 for k in range(1, 64) if k != 32)
    yield from (0.02425, 0.0242499, 0.5 - 1e-9)


def rows():
    for x in sorted(set(positive_points())):
        yield "ln_gamma", x, mp.loggamma(mp.mpf(x))
        yield "digamma", x, mp.digamma(mp.mpf(x))
        yield "trigamma", x, mp.psi(1, mp.mpf(x))
    for p in sorted(set(probabilities())):
        q = mp.mpf(p)
        yield "normal_quantile", p, -mp.sqrt(2) * mp.erfinv(1 - 2 * q) if p > 1e-15 else tail(q)


def tail(p):
    """The quantile far out, where 1 - 2p would need more digits: Newton on log Phi."""
    start = -mp.sqrt(-2 * mp.log(p))
    return mp.findroot(lambda x: mp.log(mp.erfc(-x / mp.sqrt(2)) / 2) - mp.log(p), start)


def main(path):
    lines = ["function,x,value"]
    lines += [f"{name},{x!r},{mp.nstr(value, DIGITS)}" for name, x, value in rows()]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("special.csv"))
