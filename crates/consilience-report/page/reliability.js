// Reliability diagrams: isotonic curve, consistency band, counts.

const MOST_THUMBS = 24;

function reliabilitySection() {
  const all = REPORT.labelled.reliability;
  const names = REPORT.subject.classes;
  let chosen = 0;
  let event = "top";
  const curveOf = (own) => (own.curves.find((one) => String(one.class ?? "top") === event) ?? own.curves[0])?.curve;
  const title = (i) => (i === 0 ? `fused (${all[0].name})` : all[i].name);
  const chart = figure("Reliability diagram", null, (width) => reliabilityChart(curveOf(all[chosen]), width), 440);
  const summary = el("p", { class: "help", "aria-live": "polite" });
  const thumbs = el("div", { class: "thumbs" });
  const choose = (i) => { chosen = i; sourceChoice.querySelector("select").value = String(i); update(); };
  const update = () => {
    chart.redraw();
    summary.replaceChildren(...reliabilityWords(title(chosen), curveOf(all[chosen])));
    thumbs.replaceChildren(...all.slice(0, MOST_THUMBS).map((own, i) => el("button", { type: "button", class: "thumb", title: title(i), "aria-pressed": String(i === chosen), on: { click: () => choose(i) } }, thumbnail(curveOf(own)), title(i))));
  };
  const sourceChoice = choice("Result", all.map((_, i) => [String(i), title(i)]), (value) => choose(Number(value)));
  const events = all[0].curves.map((own) => (own.class === null ? ["top", "the most probable class"] : [String(own.class), `class ${names[own.class]}`]));
  const controls = el("div", { class: "controls" }, sourceChoice, choice("Probability of", events, (value) => { event = value; update(); }));
  const node = section("reliability", "Can the probabilities be trusted?",
    "The line shows how often something happens when a probability is predicted for it: on the diagonal, what is predicted with 0.7 happens in 70 % of the cases; below it, predictions are too high. The shaded band is where the line of a calibrated prediction would lie with 95 % probability.",
    controls, el("div", { class: "pair" }, el("div", {}, chart), el("div", {}, summary, thumbs)));
  update();
  return node;
}

// A small curve without axes.
function thumbnail(curve) {
  const size = 100;
  const [x, y] = [scale(0, 1, 2, size - 2), scale(0, 1, size - 2, 2)];
  const parts = curve ? curveParts(curve, x, y, 1.6) : [];
  return svg("svg", { viewBox: `0 0 ${size} ${size}`, "aria-hidden": "true" }, svg("rect", { x: 1, y: 1, width: size - 2, height: size - 2, fill: "none", stroke: "var(--line)" }), parts);
}

// Band, diagonal and line.
function curveParts(curve, x, y, width) {
  const upper = curve.band.map((point) => `${x(point.predicted)},${y(point.high)}`);
  const lower = curve.band.map((point) => `${x(point.predicted)},${y(point.low)}`).reverse();
  const path = curve.steps.map((step, i) => `${i ? "L" : "M"}${x(step.from)},${y(step.observed)}L${x(step.to)},${y(step.observed)}`).join("");
  return [svg("polygon", { points: [...upper, ...lower].join(" "), fill: "var(--accent-soft)", "fill-opacity": 0.8 }),
    line(x(0), y(0), x(1), y(1), { stroke: "var(--soft)", "stroke-dasharray": "4 4" }),
    svg("path", { d: path, fill: "none", stroke: "var(--accent)", "stroke-width": width, "stroke-linejoin": "round" })];
}

function reliabilityWords(name, curve) {
  if (!curve) return ["No item has both a label and an output of this source."];
  const within = curve.band.map((point) => [point, stepAt(curve, point.predicted)]);
  const outside = within.filter(([point, value]) => value < point.low - 1e-12 || value > point.high + 1e-12).length;
  const share = outside / curve.band.length;
  const text = share === 0 ? "The line stays within the band: no sign of miscalibration."
    : share < 0.1 ? "The line leaves the band in few places only."
      : `The line lies outside the band for ${percent(share)} of the drawn range: the probabilities are miscalibrated there.`;
  return [el("strong", {}, name), `, ${plural(curve.n_items, "item")}. ${text} The columns count the items, at most ${count(Math.max(...curve.histogram))} per column.`];
}

function stepAt(curve, p) {
  let value = curve.steps[0].observed;
  for (const step of curve.steps) if (step.from <= p) value = step.observed;
  return value;
}

function reliabilityChart(curve, width) {
  const [left, right, top, size] = [44, width - 10, 10, Math.min(width - 54, 380)];
  const bottom = top + size;
  const x = scale(0, 1, left, left + size);
  const y = scale(0, 1, bottom, top);
  const height = bottom + 116;
  if (!curve) return { height, parts: [write(left, top + 30, "no items", { class: "soft" })] };
  const grid = ticks(0, 1, 5).map(([value, text]) => [
    line(x(value), top, x(value), bottom), line(left, y(value), left + size, y(value)),
    write(x(value), bottom + 16, text, { "text-anchor": "middle", class: "soft" }),
    write(left - 8, y(value) + 4, text, { "text-anchor": "end", class: "soft" }),
  ]);
  const dots = curve.steps.map((step) => svg("circle", { cx: x((step.from + step.to) / 2), cy: y(step.observed), r: Math.min(6, 1.5 + Math.sqrt(step.items / curve.n_items) * 6), fill: "var(--accent)" },
    svg("title", {}, `predicted ${fixed(step.from)}–${fixed(step.to)}: observed ${fixed(step.observed)} of ${plural(step.items, "item")}`)));
  const parts = [grid,
    curveParts(curve, x, y, 2.2), dots,
    histogram(curve.histogram, x, bottom + 58, bottom + 108, { "fill-opacity": 0.6 }),
    write(left + size, bottom + 34, "predicted probability", { "text-anchor": "end", class: "soft" }),
    svg("text", { transform: `translate(12 ${top + size / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft" }, "observed frequency"),
    line(left, bottom + 108.5, Math.min(right, left + size), bottom + 108.5)];
  return { height, parts, description: curve.steps.map((step) => `${fixed(step.from)} to ${fixed(step.to)}: ${fixed(step.observed)}`).join("; ") };
}
