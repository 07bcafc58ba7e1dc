// Two sources: the sliders, the triangle and what the library answers.

const VIEWS = {
  figure: { outputs: [[0.6, 0.2, 0.2], [0.6, 0.2, 0.2]], excess: [1, 1], others: [100, 100], r: 0.5 },
  disagree: { outputs: [[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]], excess: [1, 1], others: [4, 4], r: 0.3 },
  unequal: { outputs: [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]], excess: [2.5, 0.6], others: [10, 10], r: 0.4 },
};
/** Correlations of the curve. */
const CURVE = Array.from({ length: 34 }, (_, step) => step * 0.03);
/** The smallest probability that a source can give on this page. */
const LEAST = 0.01;

const library = new Library();
const byId = (id) => document.getElementById(id);
let state = fromFragment(location.hash) ?? structuredClone(VIEWS.figure);

/** The state in a fragment such as `#outputs=0.6,0.2,0.6,0.2&excess=1,1&others=100,100&r=0.5`, or null. */
function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.slice(1));
  const numbers = (name, count) => {
    const values = (given.get(name) ?? "").split(",").map(Number);
    return values.length === count && values.every(Number.isFinite) ? values : null;
  };
  const [outputs, excess, others, r] = [numbers("outputs", 4), numbers("excess", 2), numbers("others", 2), numbers("r", 1)];
  if (!outputs || !excess || !others || !r) return null;
  const whole = (a, b) => [a, b, 1 - a - b];
  return { outputs: [whole(outputs[0], outputs[1]), whole(outputs[2], outputs[3])], excess, others, r: r[0] };
}

function toFragment({ outputs, excess, others, r }) {
  const short = outputs.flatMap((p) => p.slice(0, 2)).map((p) => Number(p.toFixed(4)));
  return `#outputs=${short}&excess=${excess}&others=${others}&r=${r}`;
}

function showSliders() {
  const set = (id, value, text) => {
    const slider = byId(id);
    slider.value = value;
    slider.closest("label").querySelector("output").textContent = text;
  };
  set("r", state.r, state.r.toFixed(2));
  for (const k of [0, 1]) {
    set(`a${k}`, state.outputs[k][0], state.outputs[k][0].toFixed(2));
    set(`b${k}`, state.outputs[k][1], state.outputs[k][1].toFixed(2));
    set(`q${k}`, state.excess[k], state.excess[k].toFixed(1));
    set(`s${k}`, Math.log10(state.others[k]), String(state.others[k]));
  }
}

/** Sets the probability of class `j` by source `k`; the other classes keep their ratio. */
function setProbability(k, j, p) {
  const rest = 1 - state.outputs[k][j];
  const scaled = state.outputs[k].map((q, l) => (l === j ? p : Math.max(LEAST, (q * (1 - p)) / rest)));
  const sum = scaled.reduce((a, b) => a + b);
  state.outputs[k] = scaled.map((q) => q / sum);
}

function readSlider({ id, value }) {
  const k = Number(id.slice(1));
  if (id === "r") state.r = Number(value);
  else if (id[0] === "a") setProbability(k, 0, Number(value));
  else if (id[0] === "b") setProbability(k, 1, Number(value));
  else if (id[0] === "q") state.excess[k] = Number(value);
  else state.others[k] = Number((10 ** Number(value)).toPrecision(2));
}

/** Asks the library for the current state; a later request replaces the answer of an earlier one. */
let asked = 0;
async function update() {
  const turn = ++asked;
  showSliders();
  const { outputs, excess, others, r } = state;
  try {
    const value = await library.call({ call: "pair", outputs, excess, others, correlations: [r, ...CURVE] });
    if (turn === asked) show(value);
  } catch (error) {
    byId("sentence").textContent = error.message;
  }
}

function show({ fused, independent, alone }) {
  const [current, ...curve] = fused;
  const points = state.outputs.map((probabilities, k) =>
    ({ probabilities, kind: k ? "second" : "first", name: `output of source ${k + 1}`, source: k }));
  points.push({ probabilities: current.probabilities, kind: "fused", name: "fused distribution" });
  drawTriangle(byId("triangle"), points);
  const same = Math.abs(alone[0][0] - alone[1][0]) < 0.005;
  drawCurve(byId("curve"), CURVE, curve.map((f) => f.probabilities), { r: state.r, probabilities: current.probabilities },
    same ? alone[0][0] : undefined);
  showNumbers([
    ["Output of source 1", state.outputs[0]],
    ["Output of source 2", state.outputs[1]],
    ["Source 1 alone, calibrated", alone[0]],
    ["Source 2 alone, calibrated", alone[1]],
    ["Both, if they were independent", independent],
    ["Both, fused", current.probabilities],
  ]);
  byId("error").textContent = current.error.toExponential(1);
  byId("error").dataset.value = current.error;
  byId("sentence").replaceChildren(...sentence(current.probabilities, independent));
  document.body.dataset.ready = String(asked);
}

function showNumbers(rows) {
  byId("numbers").tBodies[0].replaceChildren(...rows.map(([name, probabilities]) => {
    const row = document.createElement("tr");
    const head = Object.assign(document.createElement("th"), { textContent: name, scope: "row" });
    const cells = probabilities.map((p) => {
      const cell = Object.assign(document.createElement("td"), { textContent: p.toFixed(3) });
      cell.dataset.value = p;
      return cell;
    });
    row.append(head, ...cells);
    return row;
  }));
}

function sentence(fused, independent) {
  const best = fused.indexOf(Math.max(...fused));
  const strong = (p) => Object.assign(document.createElement("strong"), { textContent: p.toFixed(2) });
  const name = CLASSES[best];
  const start = `At a correlation of ${state.r.toFixed(2)} the fused probability of ${name} is `;
  return [start, strong(fused[best]), `. Counted as independent, the same outputs would give `, strong(independent[best]), "."];
}

/** Dragging a point of the triangle. */
function drag(event) {
  const k = Number(event.target.closest("[data-source]")?.dataset.source ?? NaN);
  if (Number.isNaN(k)) return;
  const target = byId("triangle");
  target.setPointerCapture(event.pointerId);
  const move = (moved) => {
    const point = new DOMPoint(moved.clientX, moved.clientY).matrixTransform(target.getScreenCTM().inverse());
    state.outputs[k] = distribution([point.x, point.y], LEAST);
    update();
  };
  target.addEventListener("pointermove", move);
  target.addEventListener("pointerup", () => {
    target.removeEventListener("pointermove", move);
    remember();
  }, { once: true });
}

function remember() {
  history.replaceState(null, "", toFragment(state));
}

byId("two").addEventListener("input", ({ target }) => {
  readSlider(target);
  update();
});
byId("two").addEventListener("change", remember);
byId("triangle").addEventListener("pointerdown", drag);
document.querySelectorAll("[data-view]").forEach((button) => button.addEventListener("click", () => {
  state = structuredClone(VIEWS[button.dataset.view]);
  update();
  remember();
}));
addEventListener("hashchange", () => {
  state = fromFragment(location.hash) ?? state;
  update();
});
update();
