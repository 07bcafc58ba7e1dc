// Puts the page together.

const FAILURES = [];
window.addEventListener("error", (event) => failed(event.message));
window.addEventListener("securitypolicyviolation", (event) => failed(`blocked: ${event.blockedURI} ${event.violatedDirective}`));

// Mistakes of the page are shown at its end.
function failed(message) {
  FAILURES.push(message);
  document.documentElement.dataset.failures = FAILURES.join("; ");
}

const REPORT = JSON.parse(document.getElementById("report").textContent);

function facts() {
  const { subject, votes, kind } = REPORT;
  const rows = [["items", count(subject.n_items)]];
  if (kind === "votes") rows.push(["votes", count(votes.n_votes)], ["sources", count(votes.n_sources)], ["gold labels", count(subject.n_labelled)]);
  else rows.push(["with a label", count(subject.n_labelled)], ["sources", count(subject.sources.length)]);
  rows.push(["classes", subject.classes.length <= 6 ? subject.classes.join(", ") : count(subject.classes.length)], ["method", subject.method]);
  if (subject.n_missing) rows.push(["missing outputs", count(subject.n_missing)]);
  if (subject.n_trained) rows.push(["fitted to", plural(subject.n_trained, "labelled item")]);
  if (subject.data) rows.push(["data", subject.data]);
  return el("dl", { class: "facts" }, rows.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function sections() {
  const { kind, labelled, redundancy, subject } = REPORT;
  if (kind === "votes") return voteSections();
  const several = subject.sources.length > 1;
  return [
    labelled && gainSection(),
    redundancy && several && redundancySection(),
    several && contributionSection(),
    several && agreementSection(),
    labelled && reliabilitySection(),
    labelled && classSection(),
    subject.n_labelled < subject.n_items && shareSection(),
    sliderSection(),
    itemSection(),
  ].filter(Boolean);
}

const TERMS = [
  ["Log-loss", "Mean of −ln of the probability of the true class, in nats; lower is better. A gain of 0.1 nats means that the true class has on (geometric) average a probability that is 10.5 % larger."],
  ["Evidence", "Logarithm of the factor by which an output changes the odds of two classes, in nats: 0.7 nats double the odds, 2.3 nats make them ten times as large."],
  ["Class prior", "Probabilities of the classes before any output is known."],
  ["Calibration error", "Mean difference between predicted probability and observed frequency over 15 bins (ECE)."],
  ["Interval", "A range that contains the true value in 90 or 95 % of all cases, as stated."],
];

function footer() {
  const terms = TERMS.map(([term, text]) => [el("dt", {}, term), el("dd", {}, text)]);
  return [el("details", {}, el("summary", {}, "Terms"), el("dl", {}, terms)),
    el("p", {}, `Made by Consilience ${REPORT.software}. This file is complete: it loads nothing and sends nothing. The numbers are in it as JSON, in the element with id `, el("code", {}, "report"), ".")];
}

document.getElementById("facts").replaceWith(facts());
const SECTIONS = sections();
document.getElementById("sections").replaceChildren(...SECTIONS);
document.getElementById("contents").append(...SECTIONS.map((own) => el("a", { href: `#${own.id}` }, own.querySelector("h2").textContent)));
document.getElementById("footer").replaceChildren(...footer());
drawAll();
window.addEventListener("resize", drawAll);
// On paper nothing can be opened: tables are printed open.
const closed = () => [...document.querySelectorAll("details:not([open])")].filter((own) => own.querySelector("table, dl"));
let opened = [];
window.addEventListener("beforeprint", () => (opened = closed()).forEach((own) => (own.open = true)));
window.addEventListener("afterprint", () => opened.forEach((own) => (own.open = false)));
document.documentElement.dataset.ready = "yes";
