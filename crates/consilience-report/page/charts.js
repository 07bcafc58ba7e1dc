// Charts in SVG. A chart is drawn for the width that it has and drawn again if the width changes.

const DRAWN = [];

// A figure whose chart fits its width. `draw(width)` returns {height, parts, description}.
function figure(title, caption, draw, most = 640) {
  const holder = el("div");
  const node = el("figure", {}, holder, caption && el("figcaption", {}, words(caption)));
  let last = 0;
  const update = (force) => {
    const width = Math.max(260, Math.min(most, holder.clientWidth || most));
    if (!force && Math.abs(width - last) < 2) return;
    last = width;
    const { height, parts, description } = draw(width);
    const attributes = { viewBox: `0 0 ${width} ${height}`, width, height, role: "img" };
    holder.replaceChildren(svg("svg", attributes, svg("title", {}, title), description && svg("desc", {}, description), parts));
  };
  DRAWN.push(update);
  node.redraw = () => update(true);
  return node;
}

// Draws everything that is in the page.
const drawAll = () => DRAWN.forEach((update) => update(false));

// A linear scale from [a, b] to [x, y].
const scale = (a, b, x, y) => (value) => x + ((value - a) / (b - a || 1)) * (y - x);

// About n round numbers between two values.
function ticks(low, high, n = 5) {
  const raw = (high - low) / n || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((own) => own >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return found.map((value) => [value, fixed(value, digits)]);
}

const line = (x1, y1, x2, y2, attributes = {}) => svg("line", { x1, y1, x2, y2, stroke: "var(--line)", ...attributes });
const write = (x, y, text, attributes = {}) => svg("text", { x, y, ...attributes }, text);

// Text of at most so many pixels, estimated at 6.6 pixels per letter; the whole text on hovering.
function short(x, y, text, width, attributes = {}) {
  const most = Math.max(3, Math.floor(width / 6.6));
  const shown = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  return svg("text", { x, y, ...attributes }, shown, shown !== text && svg("title", {}, text));
}

// Width for labels on the left.
const labelWidth = (names, width) => Math.min(width * 0.38, 16 + 6.8 * Math.max(...names.map((name) => name.length), 3));

// Estimates with intervals, one per row: [{name, value, low, high, strong, text, brief}]. `brief` is the text on a
// narrow page. `zero` draws a line.
function intervalChart(rows, { unit, zero, from, to, band, bandLabel }) {
  return (width) => {
    const left = labelWidth(rows.map((row) => row.name), width);
    const texts = rows.map((row) => (width > 420 ? row.text : row.brief ?? row.text) ?? "");
    const right = width - 14 - 6.8 * Math.max(0, ...texts.map((text) => text.length));
    const step = 26;
    const top = band ? 26 : 8;
    const ends = rows.flatMap((row) => [row.value, row.low, row.high]).concat(zero ?? [], band ?? []).filter((value) => !missing(value));
    let [low, high] = [from ?? Math.min(...ends), to ?? Math.max(...ends)];
    if (low === high) [low, high] = [low - 0.5, high + 0.5];
    const x = scale(low, high, left + 8, right - 8);
    const bottom = top + step * rows.length;
    const marks = ticks(low, high, width > 420 ? 5 : 3);
    const parts = marks.map(([value, text]) => [
      line(x(value), top, x(value), bottom),
      write(x(value), bottom + 16, text, { "text-anchor": "middle", class: "soft" }),
    ]);
    if (band) {
      parts.unshift(svg("rect", { x: x(band[0]), y: top, width: Math.max(1, x(band[1]) - x(band[0])), height: bottom - top, fill: "var(--band)" }));
      parts.push(write(Math.min(x((band[0] + band[1]) / 2), width - 70), top - 8, bandLabel, { "text-anchor": "middle", class: "soft" }));
    }
    if (zero !== undefined) parts.push(line(x(zero), top, x(zero), bottom, { stroke: "var(--soft)" }));
    parts.push(write(right - 8, bottom + 34, unit, { "text-anchor": "end", class: "soft" }));
    rows.forEach((row, i) => {
      const y = top + step * (i + 0.5);
      const paint = row.strong ? "var(--accent)" : "var(--soft)";
      parts.push(short(0, y + 4, row.name, row.strong ? 0.88 * left : left, row.strong ? { "font-weight": 650 } : {}));
      if (!missing(row.low)) parts.push(line(x(row.low), y, x(row.high), y, { stroke: paint, "stroke-width": 2, "stroke-linecap": "round" }));
      if (!missing(row.value)) parts.push(svg("circle", { cx: x(row.value), cy: y, r: 4.5, fill: paint }));
      parts.push(write(width, y + 4, texts[i], { "text-anchor": "end" }));
    });
    const description = rows.map((row) => `${row.name}: ${row.text ?? fixed(row.value)}`).join("; ");
    return { height: bottom + 42, parts, description };
  };
}

// A square table of shaded numbers. `shade(value)` is an opacity from −1 to 1.
function heatMap(names, value, { shade = (own) => own, digits = 2, columns = names, text, rowTitle, columnTitle } = {}) {
  return (width) => {
    const left = labelWidth(names, width) + (rowTitle ? 18 : 0);
    const even = Math.min(52, (width - left) / columns.length);
    const slanted = Math.max(...columns.map((name) => name.length)) * 6.8 > even - 4;
    // Slanted names reach over the cells to the right of their own, and the last ones over the edge of the map.
    const over = slanted ? Math.max(...columns.map((name, j) => 8 + 4.9 * Math.min(20, name.length) - even * (columns.length - j - 0.5))) : 0;
    const cell = Math.min(even, (width - left - Math.max(0, over)) / columns.length);
    const top = (slanted ? Math.min(110, 16 + 5 * Math.max(...columns.map((name) => name.length))) : 20) + (columnTitle ? 18 : 0);
    const height = top + cell * names.length + 6;
    const parts = [];
    if (columnTitle) parts.push(write(left, 12, columnTitle, { class: "soft" }));
    if (rowTitle) parts.push(svg("text", { transform: `translate(11 ${top + (cell * names.length) / 2}) rotate(-90)`, "text-anchor": "middle", class: "soft" }, rowTitle));
    columns.forEach((name, j) => {
      const x = left + cell * (j + 0.5);
      parts.push(slanted
        ? svg("text", { transform: `translate(${x + 3} ${top - 5}) rotate(-45)` }, name.length > 20 ? `${name.slice(0, 19)}…` : name)
        : write(x, top - 6, name, { "text-anchor": "middle" }));
    });
    names.forEach((name, i) => {
      const y = top + cell * i;
      parts.push(short(rowTitle ? 18 : 0, y + cell / 2 + 4, name, left - (rowTitle ? 26 : 8)));
      columns.forEach((other, j) => {
        const own = value(i, j);
        const strength = missing(own) ? 0 : Math.max(-1, Math.min(1, shade(own, i, j)));
        const shown = text ? text(i, j) : fixed(own, digits);
        parts.push(svg("rect", { x: left + cell * j, y, width: cell - 1, height: cell - 1, rx: 2, fill: strength < 0 ? "var(--low)" : "var(--accent)", "fill-opacity": Math.abs(strength) * 0.85 + 0.03 },
          svg("title", {}, `${name} – ${other}: ${shown}`)));
        if (cell >= 26) {
          const bright = Math.abs(strength) > 0.8;
          parts.push(write(left + cell * (j + 0.5) - 0.5, y + cell / 2 + 4, shown, { "text-anchor": "middle", style: { fill: bright ? "var(--paper)" : "var(--ink)", fontSize: cell < 36 ? "10px" : "12px", pointerEvents: "none" } }));
        }
      });
    });
    return { height, parts, description: `Table of ${names.length} rows and ${columns.length} columns` };
  };
}

// Columns of a histogram over 0 to 1, with their counts where there is room.
function histogram(counts, x, top, bottom, attributes = {}) {
  const most = Math.max(...counts, 1);
  return counts.map((n, i) => {
    const height = ((bottom - top) * n) / most;
    const [from, to] = [x(i / counts.length), x((i + 1) / counts.length)];
    const column = svg("rect", { x: from + 0.5, y: bottom - height, width: to - from - 1, height, fill: "var(--soft)", ...attributes }, svg("title", {}, plural(n, "item")));
    const fits = n > 0 && 5.4 * count(n).length < to - from;
    return [column, fits && write((from + to) / 2, bottom - height - 3, count(n), { "text-anchor": "middle", class: "soft", style: { fontSize: "9px" } })];
  });
}

// A bar divided by class: shares in the order of the classes.
function stackedBar(x, y, width, height, shares, classes, names) {
  const total = shares.reduce((sum, own) => sum + own, 0);
  let at = x;
  return shares.map((share, i) => {
    const size = (width * share) / Math.max(total, 1);
    const part = svg("rect", { x: at, y, width: Math.max(0, size - 0.5), height, fill: colour(classes[i]) }, svg("title", {}, `${names[classes[i]]}: ${fixed(share)}`));
    at += size;
    return part;
  });
}
