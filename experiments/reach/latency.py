"""Latency of the service in docs/serving.md: one client, one connection, on the same machine.

    python experiments/reach/latency.py

needs fastapi, uvicorn and httpx. Requests with 1, 100 and 10,000 items of two sources and three classes; 300 requests each
(30 of 10,000 items) after 20 to warm up. The time of `model.fuse` on the same items in this process is measured beside it.
CPU milliseconds are those of the service's process per request; they hardly depend on what else the machine does.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
import numpy as np

import consilience as cs

PAGE = Path(__file__).parents[2] / "docs/serving.md"
PORT = 8765


def milliseconds(action, n):
    times = []
    for _ in range(n):
        start = time.perf_counter()
        action()
        times.append(1e3 * (time.perf_counter() - start))
    return np.percentile(times, [50, 99])


def cpu_milliseconds(pid):
    """CPU time of a process since its start."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return 1e3 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    service = re.search(r"python\n:class: not-run\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    P, y = cs.simulate("sim2", correlation=0.5, items_per_class=1000, random_state=1)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "service.py").write_text(service)
        model = cs.AutoFusion().fit(P, y)
        model.save(Path(folder, "model.json"))
        command = [sys.executable, "-m", "uvicorn", "service:app", "--port", str(PORT), "--log-level", "error"]
        with subprocess.Popen(command, cwd=folder) as server, httpx.Client(base_url=f"http://127.0.0.1:{PORT}") as client:
            try:
                await_server(client)
                print("load of the machine:", *os.getloadavg(), file=sys.stderr)
                print("items,service_median_ms,service_p99_ms,service_cpu_ms,fuse_median_ms,fuse_p99_ms")
                for n in (1, 100, 10_000):
                    items = np.resize(P, (n, 2, 3))
                    body = items.tolist()
                    ask = lambda: client.post("/fuse", json=body).raise_for_status()
                    milliseconds(ask, 20)
                    requests, before = 300 if n < 10_000 else 30, cpu_milliseconds(server.pid)
                    served = milliseconds(ask, requests)
                    cpu = (cpu_milliseconds(server.pid) - before) / requests
                    alone = milliseconds(lambda: model.fuse(items), 300)
                    print(n, *(f"{t:.2f}" for t in (*served, cpu, *alone)), sep=",", flush=True)
            finally:
                server.terminate()


def await_server(client):
    for _ in range(100):
        try:
            return client.get("/docs")
        except httpx.ConnectError:
            time.sleep(0.2)
    sys.exit("the service has not come up")


if __name__ == "__main__":
    main()
