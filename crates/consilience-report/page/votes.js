// Sources, class shares and items of aggregated votes.

function voteSections() {
  return [voteSourceSection(), voteShareSection(), voteAgreementSection(), voteItemSection()].filter(Boolean);
}

const MOST_DRAWN = 40;

function voteSourceSection() {
  const { votes, subject } = REPORT;
  const guess = 1 / subject.classes.length;
  const drawn = votes.sources.length > MOST_DRAWN ? [...votes.sources.slice(0, MOST_DRAWN / 2), ...votes.sources.slice(-MOST_DRAWN / 2)] : votes.sources;
  const rows = drawn.map((own) => ({ name: own.source, ...own.accuracy, strong: !own.guesses, text: `${fixed(own.accuracy.value, 2)}, ${plural(own.votes, "vote")}`, brief: fixed(own.accuracy.value, 2) }));
  const cells = votes.sources.map((own, i) => {
    const path = `votes/sources/${i}`;
    return [own.source, number(`${path}/votes`, 0, (n) => count(n)), [number(`${path}/accuracy/value`, 3), " (", number(`${path}/accuracy/low`, 3), "–", number(`${path}/accuracy/high`, 3), ")"],
      number(`${path}/strength`, 3), [subject.classes[own.worst_class], ` (${fixed(own.right[own.worst_class].value, 2)})`], [subject.classes[own.bias.label], ` (${signed(own.bias.excess, 2)})`], own.guesses ? "yes" : ""];
  });
  const part = drawn.length < votes.sources.length ? ` The ${MOST_DRAWN / 2} best and the ${MOST_DRAWN / 2} worst of ${count(votes.sources.length)} sources are drawn.` : "";
  const more = votes.n_sources > votes.sources.length ? ` The table has the ${count(votes.sources.length)} sources with the most votes, of ${count(votes.n_sources)}.` : "";
  const similar = votes.similar.map((pair) => el("p", { class: "note" }, joined(pair.between), ` agree on ${count(pair.agree)} of ${count(pair.common)} common items, where independent sources would agree on ${fixed(pair.expected, 0)}. They may be copies.`));
  return section("sources", "How good the sources are",
    "The probability that a vote of the source is right, with 90 % intervals. Sources in grey cannot be distinguished from guessing.",
    el("div", { class: "cards" },
      el("div", { class: "card" }, el("span", { class: "big" }, number("votes/mean_accuracy", 3)), el("span", { class: "label" }, "mean accuracy of a vote")),
      el("div", { class: "card" }, el("span", { class: "big" }, number("votes/n_guessing", 0)), el("span", { class: "label" }, `of ${plural(votes.n_sources, "source")} cannot be distinguished from guessing`)),
      rhoCard(votes.rho), votes.check && checkCard()),
    similar,
    figure("Accuracy of the sources", `The line is the accuracy of guessing, ${fixed(guess, 2)}.${part}`, intervalChart(rows, { unit: "accuracy", zero: guess, from: 0, to: 1 })),
    el("details", {}, el("summary", {}, "Sources as a table"), el("p", { class: "help" }, `Strength is the information of a vote about the class, in nats. The bias is the label that the source gives too often.${more}`),
      table(["source", "votes", "accuracy (90 %)", "strength", "worst class (accuracy)", "bias (excess)", "guessing"], cells)));
}

function rhoCard(rho) {
  if (rho.origin === "none") return null;
  const origin = { assumed: "assumed, because no labels are known", gold: "learned from gold labels", given: "given" }[rho.origin];
  return el("div", { class: "card" }, el("span", { class: "big" }, number("votes/rho/value", 2)), el("span", { class: "label" }, `correlation of sources (${fixed(rho.low, 2)}–${fixed(rho.high, 2)}), ${origin}`));
}

function checkCard() {
  return el("div", { class: "card" }, el("span", { class: "big" }, number("votes/check/against_majority/mean", 3, signed)),
    el("span", { class: "label" }, "± ", number("votes/check/against_majority/se", 3), ` nats gained over counting all votes alike, on ${plural(REPORT.votes.check.items, "gold item")} held out`));
}

function voteShareSection() {
  const { votes, subject } = REPORT;
  const rows = votes.shares.map((own, i) => ({ name: subject.classes[i], ...own, strong: true, text: percent(own.value, 1) }));
  const cells = votes.shares.map((own, i) => [subject.classes[i], number(`votes/shares/${i}/value`, 4), [number(`votes/shares/${i}/low`, 4), "–", number(`votes/shares/${i}/high`, 4)]]);
  return section("shares", "How common the classes are", "The share of every class among the items, with 90 % intervals.",
    rows.length <= 40 && figure("Class shares", null, intervalChart(rows, { unit: "share of items", from: 0 })),
    el("details", {}, el("summary", {}, "Shares as a table"), table(["class", "share", "90 % interval"], cells)));
}

function voteAgreementSection() {
  const { votes } = REPORT;
  if (votes.n_open === 0) return null;
  return section("agreement", "How certain the labels are",
    `The probability of the label of every item${REPORT.subject.n_labelled ? " without a gold label" : ""}. Items on the left need more votes.`,
    el("div", { class: "cards" },
      el("div", { class: "card" }, el("span", { class: "big" }, number("votes/unanimous", 3)), el("span", { class: "label" }, "share of the items with two or more votes whose votes are all for one class")),
      el("div", { class: "card" }, el("span", { class: "big" }, number("votes/n_against_majority", 0, (n) => count(n))), el("span", { class: "label" }, "items whose label is not the class with the most votes"))),
    figure("Probabilities of the labels", `Number of items by the probability of their label, ${plural(votes.n_open, "item")} in all.`, (width) => {
      const x = scale(0, 1, 10, width - 10);
      const marks = ticks(0, 1, 5).map(([value, text]) => write(x(value), 146, text, { "text-anchor": "middle", class: "soft" }));
      return { height: 172, parts: [histogram(votes.certainty, x, 16, 126, { fill: "var(--accent)" }), line(10, 126.5, width - 10, 126.5), marks, write(width - 10, 164, "probability of the label", { "text-anchor": "end", class: "soft" })], description: votes.certainty.join(", ") };
    }));
}

function voteItemSection() {
  const { votes } = REPORT;
  const folded = (cases) => {
    const shown = cases.map(voteCard);
    return [...shown.slice(0, 3), shown.length > 3 && el("details", { on: { toggle: drawAll } }, el("summary", {}, `${shown.length - 3} more`), shown.slice(3))];
  };
  const parts = [];
  if (votes.disagreeing.length) parts.push(el("h3", {}, "Sources disagree most"), ...folded(votes.disagreeing));
  if (votes.against_majority.length) parts.push(el("h3", {}, "The label is not the class with the most votes"), ...folded(votes.against_majority));
  if (!parts.length) return null;
  return section("items", "Items worth a look", "Upper bar: the votes. Lower bar: the probabilities of the classes, which weight every vote by the accuracy of its source.", parts);
}

function voteCard(own) {
  const { classes } = REPORT.subject;
  const total = own.votes.reduce((sum, n) => sum + n, 0);
  const used = classes.map((_, j) => j).filter((j) => own.votes[j] > 0 || own.probabilities[j] >= 0.005);
  const rows = [{ name: "votes", output: used.map((j) => own.votes[j] / total) }, { name: "result", output: used.map((j) => own.probabilities[j]), strong: true }];
  const voters = own.voters.map(([name, label]) => `${name}: ${classes[label]}`).join(", ");
  return el("article", { class: "item" },
    el("h4", {}, `${own.item}: ${classes[own.label]}`), el("p", {}, words(own.explanation)), legend(used, classes),
    figure(`Votes and probabilities of ${own.item}`, null, outputChart(rows, used), 560),
    el("p", { class: "help" }, `${voters}${total > own.voters.length ? ", …" : ""}`));
}
