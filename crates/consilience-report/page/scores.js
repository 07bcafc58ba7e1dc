// What fusing gains, scores of every class, confusion, class shares.

// The names of predictions, for people.
function methodName(method) {
  const [kind, name] = [method.split(":")[0], method.split(":").slice(1).join(":")];
  if (kind === "classifier") return name;
  if (kind === "meta" || kind === "auto" && name) return `${name}, recalibrated`;
  return { average: "average", "geometric-pool": "geometric mean", stacking: "stacking" }[method] ?? method;
}

// A difference in nats with its standard error, coloured by how clear it is.
function gainCard(path, label) {
  const { mean, se } = path.split("/").reduce((own, key) => own[key], REPORT);
  const clear = Math.abs(mean) > 2 * se;
  return el("div", { class: "card" },
    el("span", { class: `big ${clear ? (mean < 0 ? "loss" : "") : "unclear"}` }, number(`${path}/mean`, 3, signed), " nats"),
    el("span", { class: "label" }, "± ", number(`${path}/se`, 3), ", against ", label, clear ? "" : " (unclear)"));
}

function gainSection() {
  const { gain, scores, replicates } = REPORT.labelled;
  const at = (method) => gain.baselines.findIndex((own) => own.method === method);
  const cards = [gainCard("labelled/gain/best_single/gain", ["the best single source, ", el("code", {}, methodName(gain.best_single.method))])];
  for (const [method, label] of [["average", "the average of all sources"], ["stacking", "stacking"]]) {
    if (at(method) >= 0 && REPORT.subject.sources.length > 1) cards.push(gainCard(`labelled/gain/baselines/${at(method)}/gain`, label));
  }
  const rows = scores.methods.map((own, i) => ({
    name: i === 0 ? `fused (${own.method})` : methodName(own.method), place: i, strong: i === 0,
    value: own.overall.log_loss.value, low: own.overall.log_loss.low, high: own.overall.log_loss.high,
    text: `${fixed(own.overall.log_loss.value)} nats`, brief: fixed(own.overall.log_loss.value),
  })).sort((a, b) => a.value - b.value);
  const cells = rows.map(({ name, place }) => {
    const score = (key) => number(`labelled/scores/methods/${place}/overall/${key}/value`, 3);
    const interval = (key) => [score(key), " (", number(`labelled/scores/methods/${place}/overall/${key}/low`, 3), "–", number(`labelled/scores/methods/${place}/overall/${key}/high`, 3), ")"];
    return [name, interval("log_loss"), interval("accuracy"), score("brier"), score("ece")];
  });
  const chosen = rows.findIndex((row) => row.place === 0);
  return section("gain", "What fusing gains",
    "Differences of the log-loss on the same items, with standard errors. A positive number means that the fused result is better. A difference below two standard errors is unclear.",
    el("div", { class: "cards" }, cards),
    figure("Log-loss of the fused result, simple combinations and single sources", `Log-loss in nats with 95 % intervals (${count(replicates)} bootstrap replicates): further left is better.`,
      intervalChart(rows, { unit: "log-loss in nats" })),
    el("details", {}, el("summary", {}, "All scores as a table"),
      table(["prediction", "log-loss (95 %)", "accuracy (95 %)", "Brier score", "calibration error"], cells, { chosen })));
}

function classSection() {
  const { classes, confusion } = REPORT.labelled;
  const names = REPORT.subject.classes;
  const rows = classes.map((own, i) => {
    const path = `labelled/classes/${i}`;
    return [names[own.class], number(`${path}/items`, 0, (n) => count(n)), [number(`${path}/recall/value`, 3), missing(own.recall.low) ? "" : ` (${fixed(own.recall.low)}–${fixed(own.recall.high)})`],
      number(`${path}/precision`, 3), number(`${path}/log_loss/value`, 3), number(`${path}/ece/value`, 3)];
  });
  return section("classes", "Class by class",
    "Recall is the share of the items of a class that are recognised; precision is the share of right answers among those that name the class.",
    table(["class", "items", "recall (95 %)", "precision", "log-loss", "calibration error"], rows),
    confusionFigure(confusion, "Rows are true classes, columns the most probable class of the fused result. Shade is the share of the row."));
}

function confusionFigure(counts, caption, columnTitle = "most probable class") {
  const names = REPORT.subject.classes;
  if (names.length > 40) return el("p", { class: "help" }, "The confusion matrix is in the JSON; it is too large to draw.");
  const sums = counts.map((row) => row.reduce((sum, n) => sum + n, 0));
  return figure("Confusion matrix", caption, heatMap(names, (i, j) => counts[i][j] / sums[i],
    { text: (i, j) => count(counts[i][j]), rowTitle: "true class", columnTitle }), 560);
}

function shareSection() {
  const { shares, subject } = REPORT;
  const corrected = shares.lambda !== null && shares.lambda !== undefined && !subject.is_training;
  const rows = shares.classes.map((own, i) => {
    const kind = corrected ? "corrected" : "by_model";
    return { name: own.class, ...own[kind], strong: true, text: `${percent(own[kind].value, 1)}`, path: `shares/classes/${i}/${kind}` };
  });
  const help = corrected
    ? "The share of every class in the population that the items were drawn from, corrected by the labelled items, with 95 % intervals. The labelled items must be a random sample."
    : "The share of every class by the fused probabilities, with 95 % intervals. The intervals trust the calibration of the model.";
  const cells = rows.map((row) => [row.name, number(`${row.path}/value`, 4), [number(`${row.path}/low`, 4), "–", number(`${row.path}/high`, 4)], fixed(subject.class_prior[shares.classes.findIndex((own) => own.class === row.name)], 4)]);
  return section("shares", "How common the classes are", help,
    rows.length <= 40 && figure("Class shares", null, intervalChart(rows, { unit: "share of items", from: 0 })),
    el("details", {}, el("summary", {}, "Shares as a table"), table(["class", "share", "95 % interval", "class prior"], cells)));
}
