// Elements, numbers and colours. All text from the data is written as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, run] of Object.entries(value)) node.addEventListener(event, run);
    else if (name === "style") Object.assign(node.style, value);
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// An HTML element: el("p", {class: "help"}, "text", child, ...).
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

// An SVG element.
const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// Text in which `names` between backticks become code.
function words(text) {
  return text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

// Numbers that do not exist are null in the report.
const missing = (value) => value === null || value === undefined || !Number.isFinite(value);
const fixed = (value, digits = 3) => (missing(value) ? "–" : value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−"));
const chance = (value) => (value > 0 && value < 0.0005 ? "<0.001" : value < 1 && value > 0.9995 ? ">0.999" : fixed(value, 3));
const signed = (value, digits = 3) => (missing(value) ? "–" : (value >= 0 ? "+" : "") + fixed(value, digits));
const percent = (value, digits = 0) => (missing(value) ? "–" : `${fixed(100 * value, digits)} %`);
const count = (value) => (missing(value) ? "–" : value.toLocaleString("en").replaceAll(",", " "));
const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

// A number of the report, with its place in the JSON, so that tests can compare the two.
function number(path, digits = 3, format = fixed) {
  const value = path.split("/").reduce((own, key) => own?.[key], REPORT);
  return el("span", { "data-path": path, "data-digits": digits }, format(value, digits));
}

// Colours of classes: eight that can be told apart by most people, then hues by the golden angle.
const PALETTE = ["#3b76e0", "#e08f24", "#2b9c7a", "#c4568f", "#7d62d3", "#b06a3a", "#4fa5c9", "#8c929b"];
function colour(place) {
  if (place < PALETTE.length) return PALETTE[place];
  const hue = (place * 137.508) % 360;
  return `hsl(${hue.toFixed(0)} ${55 + 15 * (place % 2)}% ${45 + 8 * (place % 3)}%)`;
}

function legend(places, names) {
  const entry = (place) => el("li", {}, el("span", { style: { background: colour(place) } }), names[place]);
  return el("ul", { class: "legend" }, places.map(entry));
}

// A table. Cells are text or elements; `chosen` is the place of a row to emphasise.
function table(header, rows, { chosen = -1, caption } = {}) {
  const title = caption && el("caption", { class: "help", style: { textAlign: "left" } }, caption);
  const head = el("tr", {}, header.map((cell) => el("th", { scope: "col" }, cell)));
  const row = (cells, i) => el("tr", { class: i === chosen ? "chosen" : null }, cells.map((cell) => el("td", {}, cell)));
  return el("div", { class: "table" }, el("table", {}, title, el("thead", {}, head), el("tbody", {}, rows.map(row))));
}

// A section with a title, a sentence on how to read it, and its content.
function section(id, title, help, ...content) {
  return el("section", { id }, el("h2", {}, title), help && el("p", { class: "help" }, words(help)), content);
}

function choice(label, options, onChange, value) {
  const list = el("select", { on: { change: (event) => onChange(event.target.value) } },
    options.map(([key, text]) => el("option", { value: key }, text)));
  if (value !== undefined) list.value = value;
  return el("label", {}, label, el("br"), list);
}
