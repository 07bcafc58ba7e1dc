/** The library in a worker. `call` returns a promise of the value; `stop` ends the worker at once. */
class Library {
  constructor() {
    const text = (id) => document.getElementById(id).textContent.trim();
    const gzipped = Uint8Array.from(atob(text("library")), (character) => character.charCodeAt(0));
    this.worker = new Worker(URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" })));
    this.waiting = new Map();
    this.next = 0;
    this.worker.onmessage = ({ data }) => this.settle(data);
    this.worker.postMessage({ library: gzipped });
  }

  call(request, bytes = new Uint8Array()) {
    const line = new TextEncoder().encode(JSON.stringify(request) + "\n");
    const whole = new Uint8Array(line.length + bytes.length);
    whole.set(line);
    whole.set(bytes, line.length);
    const id = this.next++;
    this.worker.postMessage({ id, request: whole }, [whole.buffer]);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  settle({ id, answer, failure }) {
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (failure) return reject(new Error(`The library stopped: ${failure}`));
    const { value, error } = JSON.parse(answer);
    return error === undefined ? resolve(value) : reject(new Error(error));
  }

  stop() {
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(new Error("Stopped."));
  }
}
