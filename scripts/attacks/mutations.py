"""Random changes of files: bits, bytes, words, lengths and slices; in JSON also numbers, types, names and shapes."""

import json

WORDS = [b"", b"nan", b"NaN", b"inf", b"-inf", b"1e999", b"-1", b"1e-400", b"0", b"1", b"-0.0", b"0.5", b"1e308", b"\"", b",",
         b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"{", b"}", b"[", b"]", b"null", b"true", b"label", b"_", b"=",
         b"9" * 400, b"x" * 5000, b"\x1b[2J\x07", "é∞𝟙".encode(), b"\"\"", b"{}", b":", b"\\u0000", b"\\ud800",
         b"</script><script>alert(1)</script>", b"yes", b"item", b"s0", b"gold", b"probability"]
LENGTHS = [b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\0", b"\x01\0\0\0", b"\xff" * 8, b"\xff" * 7 + b"\x7f",
           b"\0" * 8, b"\0\0\0\0\x01\0\0\0"]


def mutate(content, rng):
    """Between one and four changes of bytes, words or slices."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        span = min(len(content) - at, rng.choice([1, 2, 4, 8, 30, 300]))
        action = rng.randrange(8)
        if action == 0 and content:
            content[min(at, len(content) - 1)] ^= 1 << rng.randrange(8)
        elif action == 1:
            content[at:at + span] = rng.randbytes(span)
        elif action == 2:
            content[at:at + span] = b""
        elif action == 3:
            content[at:at] = rng.choice(WORDS)
        elif action == 4:
            content[at:at + span] = rng.choice(WORDS)
        elif action == 5:
            word = rng.choice(LENGTHS)
            content[at:at + len(word)] = word
        elif action == 6:
            other = rng.randrange(len(content) + 1)
            content[at:at] = content[other:other + span]
        elif rng.random() < 0.3:
            del content[at:]
    return bytes(content)


NUMBERS = [0, -1, 1, 2, 1e-300, 1e300, 1e308, -1e308, 1e5, 1e6, 1e-6, 0.5, 2**53, 2**63, 2**64 - 1, -2**63, 1e-12]
VALUES = [None, True, "", "x", "c1", "auto", [], {}, [[]], [1], {"a": 1}, "1" * 500, "\x1b[31m",
          "</script><script>alert(1)</script>", "\"\"\"\nimport os\n\"\"\"", "'\nimport os\n'", "\\\nimport os\n"]


def mutate_json(value, rng):
    """A copy with between one and four changes at random places."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, 4)):
        places = []
        collect(value, places)
        parent, key = rng.choice(places)
        action = rng.randrange(6)
        if action == 0:
            parent[key] = rng.choice(VALUES)
        elif action == 1:
            del parent[key]
        elif action == 2 and isinstance(parent, list):
            parent.append(json.loads(json.dumps(parent[key])))
        elif action == 3 and isinstance(parent, dict):
            parent[rng.choice(["extra", *parent])] = json.loads(json.dumps(parent[key]))
        elif isinstance(parent[key], float | int) and rng.random() < 0.5:
            parent[key] *= 10.0 ** rng.randint(-12, 12)
        else:
            parent[key] = rng.choice(NUMBERS)
        if not isinstance(value, dict) or not value:
            break
    text = json.dumps(value)
    if rng.random() < 0.1:
        text = text.replace(": ", ": " + rng.choice(["1, \"classes\": ", "[" * 200, "1e400, \"a\": "]), 1)
    return text.encode()


def collect(value, places):
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in list(entries):
        places.append((value, key))
        # Long lists of numbers are all alike.
        if not isinstance(entry, list) or len(places) < 3000:
            collect(entry, places)
