// Redundancy, contributions and agreement of the sources.

const LARGEST_MAP = 60;

function redundancySection() {
  const found = REPORT.redundancy;
  const names = REPORT.subject.sources;
  const origin = { training: "the items that the model was fitted to", items: "the labelled items of this report", parameters: "the parameters of the model" }[found.origin];
  const parts = [el("div", { class: "cards" }, el("div", { class: "card" },
    el("span", { class: "big" }, number("redundancy/effective_number", 2), ` of ${names.length}`),
    el("span", { class: "label" }, "effective number of sources",
      found.interval && [", 90 % interval ", number("redundancy/interval/0", 2), "–", number("redundancy/interval/1", 2)],
      found.independent && [`; ${names.length} independent sources would have `, number("redundancy/independent/0", 2), "–", number("redundancy/independent/1", 2)])))];
  if (found.interval && names.length > 1) parts.push(figure("Effective number of sources", "If the dot lies left of the shaded range, the sources share evidence. The range is where as many independent sources would lie on as many items.",
    intervalChart([{ name: "these sources", value: found.effective_number, low: found.interval[0], high: found.interval[1], strong: true, text: fixed(found.effective_number, 2) }],
      { unit: "effective number", from: Math.min(1, found.interval[0]), to: Math.max(names.length, found.independent[1]), band: found.independent, bandLabel: "if independent" })));
  for (const group of found.copies) parts.push(el("p", { class: "note" }, joined(group.map((k) => names[k])), " have nearly the same evidence (correlations of 0.95 or more): one of them would do."));
  if (names.length > 1 && found.order.length > 0 && names.length <= LARGEST_MAP) {
    const order = found.order;
    const interval = (a, b) => (found.correlation_intervals && a !== b ? ` (${found.correlation_intervals[a][b].map((end) => fixed(end, 2)).join("–")})` : "");
    parts.push(figure("Correlation of evidence", "Correlation of the evidence of two sources given the true class: 0 is independent, 1 is a copy. Similar sources are neighbours. The table below has the intervals.",
      heatMap(order.map((k) => names[k]), (i, j) => found.correlation[order[i]][order[j]], { digits: 2 }), 560));
    parts.push(el("details", {}, el("summary", {}, "Correlations as a table"), pairTable(found, names, interval)));
  } else if (found.correlation.length > 1) {
    parts.push(pairTable(found, names, () => ""));
  }
  return section("redundancy", "Who is redundant",
    `Sources that make the same mistakes carry the same evidence. The effective number is that of independent sources with the same total evidence, with 90 % intervals; it comes from ${origin}.`, parts);
}

// The most correlated pairs.
function pairTable(found, names, interval) {
  const pairs = [];
  for (let a = 0; a < names.length; a++) for (let b = 0; b < a; b++) pairs.push([found.correlation[a][b], a, b]);
  pairs.sort((p, q) => q[0] - p[0]);
  const rows = pairs.slice(0, 40).map(([, a, b]) => [`${names[b]} – ${names[a]}`, [number(`redundancy/correlation/${a}/${b}`, 3), interval(a, b)]]);
  return table(["pair", found.correlation_intervals ? "correlation (90 %)" : "correlation"], rows);
}

// Names as a list.
function joined(names) {
  const marked = names.map((name) => el("code", {}, name));
  return marked.flatMap((name, i) => (i === 0 ? [name] : [i === marked.length - 1 ? " and " : ", ", name]));
}

function contributionSection() {
  const names = REPORT.subject.sources;
  const own = REPORT.contributions;
  const labelled = own[0].drop_cost !== undefined;
  const known = own[0].influence !== undefined;
  const rank = (row) => (labelled ? row.drop_cost.mean : row.influence ?? row.drop_changes);
  const order = own.map((_, i) => i).sort((a, b) => rank(own[b]) - rank(own[a]));
  const parts = [];
  const shown = order.slice(0, 40);
  if (labelled) {
    const rows = shown.map((i) => {
      const { mean, se } = own[i].drop_cost;
      return { name: names[i], value: mean, low: missing(se) ? null : mean - 2 * se, high: missing(se) ? null : mean + 2 * se, strong: mean > 2 * se, text: `${signed(mean)} nats`, brief: signed(mean) };
    });
    parts.push(el("h3", {}, "What dropping a source costs"), figure("Cost of dropping each source",
      `Increase of the log-loss if the outputs of the source are missing, ± 2 standard errors, on ${plural(own[0].n_dropped, "item")}. Sources in grey could be dropped without a clear loss; of two copies each can be dropped, but not both.`,
      intervalChart(rows, { unit: "increase of log-loss in nats", zero: 0 })));
  }
  if (!known && own[0].share !== undefined) {
    const ranked = own.map((_, i) => i).sort((a, b) => own[b].share - own[a].share).slice(0, 40);
    const rows = ranked.map((i) => ({ name: names[i], value: own[i].share, low: own[i].share_interval?.[0], high: own[i].share_interval?.[1], strong: true, text: fixed(own[i].share, 2) }));
    parts.push(el("h3", {}, "Independent share"), figure("Independent share of each source", "The part of its evidence that other sources do not give, with 90 % intervals: 1 is independent of all others, 0 is given by others already. The shares add up to the effective number.",
      intervalChart(rows, { unit: "independent share", from: 0 })));
  }
  if (known) {
    const rows = shown.map((i) => ({ name: names[i], value: own[i].influence, low: own[i].influence_interval?.[0], high: own[i].influence_interval?.[1], strong: true, text: `${fixed(own[i].influence)} nats`, brief: fixed(own[i].influence) }));
    parts.push(el("h3", {}, "Influence"), figure("Influence of each source", "Mean evidence of one output for the true class, times the part of it that other sources do not give, with 90 % intervals.",
      intervalChart(rows, { unit: "influence in nats", from: 0 })));
  }
  const cells = order.map((i) => {
    const path = `contributions/${i}`;
    const ends = (interval) => (interval ? ` (${fixed(interval[0])}–${fixed(interval[1])})` : "");
    const row = [names[i], number(`${path}/present`, 0, (n) => count(n))];
    if (labelled) row.push([number(`${path}/drop_cost/mean`, 4, signed), missing(own[i].drop_cost.se) ? "" : ` ± ${fixed(own[i].drop_cost.se, 4)}`]);
    row.push(number(`${path}/drop_changes`, 4));
    if (known) row.push([number(`${path}/influence`, 3), ends(own[i].influence_interval)]);
    if (own[i].share !== undefined) row.push([number(`${path}/share`, 3), ends(own[i].share_interval)]);
    return row;
  });
  const header = ["source", "outputs", labelled && "cost of dropping", "answers changed", known && "influence (90 %)", own[0].share !== undefined && "independent share (90 %)"].filter(Boolean);
  return section("contributions", "What each source contributes",
    labelled ? "A source is worth its cost if dropping it makes the fused result worse." : "Without labels the page shows how much the fused result depends on each source, not whether it is better for it.",
    parts, parts.length ? el("details", {}, el("summary", {}, "All numbers as a table"), table(header, cells)) : table(header, cells));
}

function agreementSection() {
  const { agreement, subject } = REPORT;
  const names = subject.sources;
  const card = (value, text) => el("div", { class: "card" }, el("span", { class: "big" }, value), el("span", { class: "label" }, text));
  const order = REPORT.redundancy?.order.length ? REPORT.redundancy.order : names.map((_, i) => i);
  const map = names.length > 1 && names.length <= LARGEST_MAP && agreement.pairs.length > 0;
  return section("agreement", "Where the sources agree",
    `The class that a source names is its most probable one. The numbers come from ${plural(agreement.n_items, "item")}${agreement.n_items < subject.n_items ? `, evenly spaced over all ${count(subject.n_items)}` : ""}.`,
    el("div", { class: "cards" },
      card(number("agreement/unanimous", 3), "share of items for which all sources name the same class"),
      card(number("agreement/against_average", 3), "share of items for which the fused result names another class than the average output"),
      card(number("agreement/entropy", 3), "mean entropy of the fused result in nats: 0 is certain")),
    map && figure("Agreement of pairs of sources", "Share of items for which two sources name the same class. Agreement alone does not make sources redundant: good sources agree because they are right.",
      heatMap(order.map((k) => names[k]), (i, j) => agreement.pairs[order[i]][order[j]], { shade: (own) => 2 * own - 1 > 0 ? 2 * own - 1 : 0 }), 560));
}
