// Single items with the outputs of the sources and the evidence of each.

function itemSection() {
  const { disagreeing, surprising, subject, labelled } = REPORT;
  const parts = [];
  if (disagreeing.length) parts.push(el("h3", {}, "Sources disagree most"), ...folded(disagreeing));
  if (surprising.length) parts.push(el("h3", {}, labelled ? "The true class has a small fused probability" : "The fused result differs most from the average"), ...folded(surprising));
  if (!parts.length) return null;
  return section("items", "Items worth a look",
    `Items are counted from 1 in the order of the data, ${plural(subject.n_items, "item")} in all. Left: what each source gives. Right: the evidence of each source in nats for one class against another, as far as the others do not give it; what several sources have in common is a row of its own. The rows add up to the logarithm of the fused odds: 2.3 nats are odds of 10 to 1.`, parts);
}

// The first three items, and the others on demand.
function folded(cases) {
  const shown = cases.map(caseCard);
  const rest = shown.slice(3);
  return [...shown.slice(0, 3), rest.length > 0 && el("details", { on: { toggle: drawAll } }, el("summary", {}, `${rest.length} more`), rest)];
}

function caseCard(own) {
  const { classes, sources } = REPORT.subject;
  const [first, second] = own.versus;
  const rows = [{ name: "fused", output: own.fused, strong: true }, ...own.sources.map((row) => ({ ...row, name: sources[row.source] }))];
  const label = own.label === null ? "" : own.label === own.predicted ? " – right" : ` – the true class is ${classes[own.label]}`;
  return el("article", { class: "item" },
    el("h4", {}, `Item ${count(own.item + 1)}: ${classes[own.predicted]}${label}`),
    el("p", {}, words(own.explanation)),
    legend(own.classes, classes),
    el("div", { class: "pair" },
      figure(`Outputs for item ${own.item + 1}`, null, outputChart(rows, own.classes), 460),
      figure(`Evidence for ${classes[first]} against ${classes[second]}`, null, evidenceChart(own), 460)),
    own.n_hidden > 0 && el("p", { class: "help" }, `${plural(own.n_hidden, "source")} with less evidence not shown.`));
}

function outputChart(rows, places) {
  return (width) => {
    const left = labelWidth(rows.map((row) => row.name), width);
    const parts = rows.flatMap((row, i) => {
      const y = 4 + 22 * i + (i ? 6 : 0);
      const bar = row.output ? stackedBar(left, y, width - left - 2, 15, row.output, places, REPORT.subject.classes) : [write(left, y + 12, "missing", { class: "soft" })];
      return [short(0, y + 12, row.name, left - 6, row.strong ? { "font-weight": 650 } : {}), ...bar];
    });
    return { height: 16 + 22 * rows.length, parts, description: rows.map((row) => `${row.name}: ${row.output?.map((p) => fixed(p)).join(", ") ?? "missing"}`).join("; ") };
  };
}

function evidenceChart(own) {
  const { classes, sources } = REPORT.subject;
  const [first, second] = own.versus;
  const rows = own.sources.map((row) => ({ name: sources[row.source], value: row.evidence }));
  if (sources.length > 1) rows.push({ name: "shared by several", value: own.shared });
  if (Math.abs(own.prior) >= 0.005) rows.push({ name: "class prior", value: own.prior });
  rows.push({ name: "total", value: own.log_odds, strong: true });
  return (width) => {
    const most = Math.max(0.5, ...rows.map((row) => Math.abs(row.value)));
    const left = labelWidth(rows.map((row) => row.name), width);
    const x = scale(-most, most, left + 48, width - 50);
    const parts = rows.flatMap((row, i) => {
      const y = 28 + 22 * i + (row.strong ? 6 : 0);
      const [from, to] = [Math.min(x(0), x(row.value)), Math.max(x(0), x(row.value))];
      const positive = row.value >= 0;
      return [short(0, y + 12, row.name, left - 6, row.strong ? { "font-weight": 650 } : {}),
        svg("rect", { x: from, y, width: Math.max(1, to - from), height: 15, rx: 2, fill: colour(positive ? first : second) }),
        write(positive ? to + 4 : from - 4, y + 12, signed(row.value, 2), { "text-anchor": positive ? "start" : "end", class: "soft" })];
    });
    const bottom = 30 + 22 * rows.length;
    parts.push(line(x(0), 22, x(0), bottom + 2, { stroke: "var(--soft)" }),
      short(x(0) + 6, 14, `for ${classes[first]}`, width - x(0) - 6), short(x(0) - 6, 14, `for ${classes[second]}`, x(0) - 10, { "text-anchor": "end" }));
    return { height: bottom + 8, parts, description: rows.map((row) => `${row.name}: ${signed(row.value, 2)} nats`).join("; ") };
  };
}
