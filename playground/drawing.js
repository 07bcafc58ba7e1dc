// The triangle of the classes and the curve against the correlation, as SVG.

const CLASSES = ["A", "B", "C"];
/** The corners of the triangle, in the order of the classes. */
const CORNERS = [[160, 30], [30, 255], [290, 255]];
/** The frame of the curve: left, top, width, height. */
const FRAME = { left: 44, top: 14, width: 352, height: 190 };

function svg(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** The place of a distribution in the triangle. */
function place(probabilities) {
  return [0, 1].map((axis) => CORNERS.reduce((sum, corner, j) => sum + probabilities[j] * corner[axis], 0));
}

/** The distribution at a place of the triangle; places outside it are moved to its edge, where a class has `least`. */
function distribution([x, y], least) {
  const b = (CORNERS[0][1] - y) / (CORNERS[0][1] - CORNERS[1][1]);
  const c = (x - CORNERS[0][0]) / (CORNERS[2][0] - CORNERS[1][0]);
  const raw = [1 - b, b / 2 - c, b / 2 + c].map((p) => Math.max(p, least));
  const sum = raw[0] + raw[1] + raw[2];
  return raw.map((p) => p / sum);
}

function drawTriangle(target, points) {
  target.replaceChildren(svg("polygon", { points: CORNERS.map(String).join(" "), class: "edge" }));
  for (const share of [0.25, 0.5, 0.75]) {
    for (let j = 0; j < 3; j++) {
      const ends = [1, 2].map((step) => {
        const p = [0, 0, 0];
        p[j] = share;
        p[(j + step) % 3] = 1 - share;
        return place(p);
      });
      target.append(svg("line", { x1: ends[0][0], y1: ends[0][1], x2: ends[1][0], y2: ends[1][1], class: "grid" }));
    }
  }
  const offsets = [[0, -10], [-14, 14], [14, 14]];
  CORNERS.forEach(([x, y], j) =>
    target.append(svg("text", { x: x + offsets[j][0], y: y + offsets[j][1], class: "corner" }, CLASSES[j])));
  const [first, second] = points.filter(({ source }) => source !== undefined).map((point) => place(point.probabilities));
  const near = second !== undefined && Math.hypot(first[0] - second[0], first[1] - second[1]) < 12;
  for (const { probabilities, kind, name, source } of points) {
    const [x, y] = place(probabilities);
    const behind = near && source === 0; // a ring around the point of the other source, with its number beside it
    const group = svg("g", { class: `point ${kind}`, transform: `translate(${x} ${y})` });
    if (source !== undefined) group.dataset.source = source;
    const shape = kind === "fused" ? svg("path", { d: "M0-10L10 0L0 10L-10 0Z" }) : svg("circle", { r: behind ? 13 : 9 });
    group.append(shape, svg("title", {}, name));
    if (source !== undefined) group.append(svg("text", behind ? { x: -20, y: 4, class: "beside" } : { y: 4 }, source + 1));
    target.append(group);
  }
}

/** Names at the ends of the lines; lines that end at about the same height share a name such as "B, C". */
function lineNames(heights) {
  const names = [];
  heights.forEach((height, j) => {
    const near = names.find(([other]) => Math.abs(other - height) < 12);
    if (near) near[1] += `, ${CLASSES[j]}`;
    else names.push([height, CLASSES[j]]);
  });
  return names;
}

/** Fused probabilities against the correlation: one line per class, the current correlation, one source alone. */
function drawCurve(target, correlations, curves, current, alone) {
  const { left, top, width, height } = FRAME;
  const x = (r) => left + r * width;
  const y = (p) => top + (1 - p) * height;
  target.replaceChildren();
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    target.append(svg("line", { x1: left, x2: left + width, y1: y(tick), y2: y(tick), class: "grid" }),
      svg("text", { x: left - 8, y: y(tick) + 4, class: "tick end" }, tick),
      svg("text", { x: x(tick), y: top + height + 18, class: "tick" }, tick));
  }
  target.append(svg("text", { x: left + width / 2, y: top + height + 38, class: "axis" }, "correlation"),
    svg("line", { x1: x(current.r), x2: x(current.r), y1: top, y2: top + height, class: "current" }));
  CLASSES.forEach((name, j) => {
    const path = correlations.map((r, step) => `${step ? "L" : "M"}${x(r)} ${y(curves[step][j])}`).join("");
    target.append(svg("path", { d: path, class: `line class-${name}` }),
      svg("circle", { cx: x(current.r), cy: y(current.probabilities[j]), r: 5, class: `dot class-${name}` }));
  });
  for (const [height, names] of lineNames(curves.at(-1).map(y))) {
    target.append(svg("text", { x: left + width + 6, y: height + 4, class: "tick start" }, names));
  }
  if (alone !== undefined) {
    target.append(svg("line", { x1: left, x2: left + width, y1: y(alone), y2: y(alone), class: "alone" }),
      svg("text", { x: left + 6, y: y(alone) - 6, class: "tick start" }, "A by one source alone"));
  }
}
