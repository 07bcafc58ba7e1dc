// A table that the reader drops: fitted in a worker of its own, so that it can be stopped.

/** Sizes beyond this need the command line: the tab's memory is limited to 4 GiB. */
const LARGEST_TABLE = 300e6;

let fitting = null;

async function fitTable(name, bytes) {
  fitting?.stop();
  const mine = fitting = new Library();
  clearResults();
  const stop = Object.assign(document.createElement("button"), { textContent: "Stop", type: "button" });
  stop.addEventListener("click", () => mine.stop());
  byId("status").replaceChildren(`Fitting ${name} … `, stop);
  try {
    const fitted = await mine.call({ call: "table", name, values: byId("values").value }, bytes);
    showFitted(name, fitted);
  } catch (error) {
    byId("status").textContent = error.message;
    byId("status").className = "failed";
  } finally {
    mine.stop();
    document.body.dataset.fitted = name;
  }
}

function clearResults() {
  byId("status").className = "";
  byId("warnings").replaceChildren();
  byId("downloads").hidden = byId("report").hidden = true;
  delete document.body.dataset.fitted;
}

function showFitted(name, { model, report, n_items, n_labelled, warnings }) {
  const items = (n) => `${n.toLocaleString("en")} ${n === 1 ? "item" : "items"}`;
  byId("status").textContent = `${name}: ${items(n_items)}, ${n_labelled.toLocaleString("en")} of them labelled.`;
  byId("warnings").replaceChildren(...warnings.map((text) =>
    Object.assign(document.createElement("li"), { textContent: text })));
  const link = (id, text, type) => {
    URL.revokeObjectURL(byId(id).href);
    byId(id).href = URL.createObjectURL(new Blob([text], { type }));
  };
  link("model", model, "application/json");
  link("save", report, "text/html");
  byId("downloads").hidden = byId("report").hidden = false;
  byId("report").srcdoc = report;
  window.fittedModel = model;
}

/** 120 items, three classes: two sources that share most of their errors and a third, weaker one. */
function exampleTable() {
  let seed = 7;
  const uniform = () => (seed = (seed * 16807) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const softmax = (scores) => {
    const powers = scores.map(Math.exp);
    return powers.map((p) => p / (powers[0] + powers[1] + powers[2]));
  };
  const names = ["first", "second", "third"];
  const header = ["label", ...names.flatMap((name) => ["cat", "dog", "fox"].map((c) => `${name}_${c}`))];
  const row = () => {
    const truth = Math.floor(uniform() * 3);
    const shared = [0, 1, 2].map(normal);
    const scores = (signal, common, own) => shared.map((z, j) => signal * (j === truth) + common * z + own * normal());
    const outputs = [scores(1.6, 0.9, 0.3), scores(1.5, 0.9, 0.4), scores(1, 0, 1)].map(softmax);
    return [["cat", "dog", "fox"][truth], ...outputs.flat().map((p) => p.toFixed(12))];
  };
  return [header, ...Array.from({ length: 120 }, row)].map((cells) => cells.join(",")).join("\n") + "\n";
}

async function take(file) {
  if (!file) return;
  if (file.size > LARGEST_TABLE) {
    clearResults();
    byId("status").textContent = `${file.name} is larger than 300 MB; use the command line: consilience fit ${file.name}`;
    return;
  }
  fitTable(file.name, new Uint8Array(await file.arrayBuffer()));
}

const drop = byId("drop");
for (const name of ["dragover", "dragleave", "drop"]) {
  drop.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
  });
}
drop.addEventListener("drop", (event) => take(event.dataTransfer.files[0]));
byId("file").addEventListener("change", ({ target }) => take(target.files[0]));
byId("example").addEventListener("click", () => fitTable("example.csv", new TextEncoder().encode(exampleTable())));
