// Another class prior and another cost of mistakes, tried on a sample of the items.
//
// The fused result is a mixture of parts. Under another class prior, the probabilities of every part
// are multiplied by the ratio of the two priors and normalised. The decision has the smallest expected
// cost; among equals the first class.

// The class prior with this probability for one class; the others keep their proportions.
function priorWith(prior, place, probability) {
  const rest = prior.reduce((sum, p, j) => (j === place ? sum : sum + p), 0);
  return prior.map((p, j) => (j === place ? probability : (p * (1 - probability)) / rest));
}

function underPrior(parts, weights, from, to) {
  const mixture = from.map(() => 0);
  parts.forEach((part, m) => {
    const products = part.map((p, j) => p * (to[j] / from[j]));
    const sum = products.reduce((all, p) => all + p, 0);
    products.forEach((p, j) => { mixture[j] += (weights[m] * p) / sum; });
  });
  return mixture;
}

// The decision if missing one class costs `cost` times as much as any other mistake.
function decide(fused, costly, cost) {
  const expected = fused.map((_, decision) => fused.reduce((sum, p, truth) => sum + (truth === decision ? 0 : p * (truth === costly ? cost : 1)), 0));
  return expected.reduce((best, own, place) => (own < expected[best] ? place : best), 0);
}

// Settings after the # of the address, such as #prior=0.3&class=fox&cost=5&costly=fox&item=12.
function settings(classes, sample, prior) {
  const given = new URLSearchParams(location.hash.slice(1));
  const place = (name) => { const at = classes.indexOf(given.get(name)); return at < 0 ? classes.length - 1 : at; };
  const within = (name, low, high, usual) => { const value = Number.parseFloat(given.get(name)); return value >= low && value <= high ? value : usual; };
  const of = place("class");
  const item = sample.items.indexOf(Math.round(within("item", 1, Infinity, 0)) - 1);
  return { of, prior: within("prior", 1e-6, 1 - 1e-6, prior[of]), costly: place("costly"), cost: within("cost", 0.01, 1000, 1), item: Math.max(0, item) };
}

function sliderSection() {
  const { sample, subject } = REPORT;
  const { classes, class_prior: prior } = subject;
  const state = settings(classes, sample, prior);
  const logit = (p) => Math.log(p / (1 - p));
  const classOptions = classes.map((name, j) => [String(j), name]);
  const outputs = { prior: el("output"), cost: el("output"), result: el("div", { "aria-live": "polite" }) };
  const range = (attributes, run) => el("input", { type: "range", ...attributes, on: { input: (event) => { run(Number(event.target.value)); update(true); } } });
  const priorRange = range({ min: -4.6, max: 4.6, step: 0.01, id: "prior", "aria-label": "Class prior" }, (value) => { state.prior = 1 / (1 + Math.exp(-value)); });
  const costRange = range({ min: 0, max: Math.log(100), step: 0.01, id: "cost", "aria-label": "Cost of a missed item" }, (value) => { state.cost = Math.exp(value); });
  const pick = (label, key, run) => choice(label, classOptions, (value) => { state[key] = Number(value); run?.(); update(true); }, String(state[key]));
  const priorPick = pick("Class", "of", () => { state.prior = prior[state.of]; });
  const costPick = pick("Class", "costly");
  const itemInput = el("select", { on: { change: (event) => { state.item = Number(event.target.value); update(true); } } }, sample.items.map((item, i) => el("option", { value: i }, count(item + 1))));
  const priorBox = sample.follows_prior
    ? el("div", {}, el("strong", {}, "How common is a class?"), priorPick, el("label", {}, "Its class prior: ", outputs.prior, priorRange))
    : el("div", {}, el("strong", {}, "How common is a class?"), el("p", { class: "help" }, "With this method another class prior changes more than the weights of the classes. Make the report again with another class prior."));
  const costBox = el("div", {}, el("strong", {}, "What does a mistake cost?"), costPick, el("label", {}, "Missing an item of it costs as much as ", outputs.cost, " other mistakes", costRange));
  const reset = el("button", { type: "button", on: { click: () => { Object.assign(state, { prior: prior[state.of], cost: 1 }); update(true); } } }, "Reset");
  const bars = figure("Fused distribution of the chosen item", null, (width) => distributionChart(current().distribution, width), 460);
  let matrix = null;
  const matrixBox = el("div");

  const before = sample.parts.map((parts) => decide(underPrior(parts, sample.weights, prior, prior), 0, 1));

  // Everything under the current settings.
  function current() {
    const to = sample.follows_prior ? priorWith(prior, state.of, state.prior) : prior;
    const shift = (parts) => underPrior(parts, sample.weights, prior, to);
    const decisions = sample.parts.map((parts) => decide(shift(parts), state.costly, state.cost));
    return { to, decisions, before, distribution: shift(sample.parts[state.item]) };
  }

  function update(write) {
    const { to, decisions, before, distribution } = current();
    outputs.prior.textContent = fixed(state.prior, 3);
    outputs.cost.textContent = fixed(state.cost, state.cost < 10 ? 1 : 0);
    priorRange.value = logit(state.prior);
    costRange.value = Math.log(state.cost);
    itemInput.value = String(state.item);
    const decided = classes.map((_, j) => decisions.filter((own) => own === j).length);
    const changed = decisions.filter((own, i) => own !== before[i]).length;
    const cards = [[count(changed), "decisions changed", changed]];
    if (sample.labels.length) {
      const counts = classes.map((_, t) => classes.map((__, d) => decisions.filter((own, i) => own === d && sample.labels[i] === t).length));
      const right = decisions.filter((own, i) => own === sample.labels[i]).length / decisions.length;
      const cost = decisions.reduce((sum, own, i) => sum + (own === sample.labels[i] ? 0 : sample.labels[i] === state.costly ? state.cost : 1), 0) / decisions.length;
      cards.push([fixed(right), "accuracy of the decisions", right], [fixed(cost), "mean cost per item", cost]);
      matrix = confusionFigure(counts, "True classes and decisions under these settings.", "decision");
      matrixBox.replaceChildren(matrix);
      matrix.redraw?.();
    } else {
      matrixBox.replaceChildren(table(["class", "decisions", "share"], classes.map((name, j) => [name, count(decided[j]), fixed(decided[j] / decisions.length)])));
    }
    outputs.result.replaceChildren(el("div", { class: "cards" }, cards.map(([big, text, exact]) => el("div", { class: "card" }, el("span", { class: "big", "data-exact": exact }, big), el("span", { class: "label" }, text)))));
    bars.redraw();
    holder.dataset.fused = JSON.stringify(distribution);
    holder.dataset.prior = JSON.stringify(to);
    holder.dataset.decisions = JSON.stringify(decided);
    if (write) remember(state, classes, sample);
  }

  const holder = section("try", "Try another prior or cost",
    `The sliders change the class prior and the cost of mistakes, as if the report had been made with them. They use ${sample.items.length < sample.of ? `a sample of ${count(sample.items.length)} of ${plural(sample.of, "item")}, evenly spaced` : `all ${plural(sample.of, "item")}`}${sample.labels.length ? " with a label" : ""}.`,
    el("div", { class: "sliders" }, priorBox, costBox), el("div", { class: "controls" }, reset),
    outputs.result, el("div", { class: "pair" }, matrixBox, el("div", {}, el("label", { class: "controls" }, "Fused distribution of item ", itemInput), bars)));
  update(false);
  return holder;
}

// Keeps the settings in the address, where the page has one.
function remember(state, classes, sample) {
  const text = new URLSearchParams({ prior: state.prior, class: classes[state.of], cost: state.cost, costly: classes[state.costly], item: sample.items[state.item] + 1 });
  try { history.replaceState(null, "", `#${text}`); } catch { /* a page inside a notebook has no address */ }
}

function distributionChart(distribution, width) {
  const names = REPORT.subject.classes;
  const order = distribution.map((_, j) => j).sort((a, b) => distribution[b] - distribution[a]).slice(0, 12).sort((a, b) => a - b);
  const left = labelWidth(order.map((j) => names[j]), width);
  const x = scale(0, 1, left, width - 48);
  const parts = order.flatMap((j, i) => [
    short(0, 24 * i + 17, names[j], left - 6),
    svg("rect", { x: left, y: 24 * i + 5, width: Math.max(1, x(distribution[j]) - left), height: 16, rx: 2, fill: colour(j) }),
    write(x(distribution[j]) + 5, 24 * i + 17, chance(distribution[j]))]);
  return { height: 24 * order.length + 10, parts, description: order.map((j) => `${names[j]}: ${fixed(distribution[j])}`).join("; ") };
}
