// What the page says about progress: the curve, the labels, agreement.

import { drawCurve } from "./chart.js";
import { element } from "./tagged.js";

const $ = (id) => document.getElementById(id);
const whole = (p) => `${Math.round(100 * p)} %`;
const count = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

export function showProgress(progress, project) {
  $("done-bar").max = Math.max(1, progress.sentences);
  $("done-bar").value = progress.answered;
  const skipped = progress.skipped ? `, ${progress.skipped.toLocaleString("en")} skipped` : "";
  $("done-text").textContent =
    `${progress.answered.toLocaleString("en")} of ${progress.sentences.toLocaleString("en")} labelled${skipped}`;
  drawCurve($("curve"), progress.curve);
  $("model-text").textContent = modelText(progress);
  $("model-text").classList.toggle("bad", progress.error !== "");
  showLabels(progress, project);
  $("agreement-text").textContent = agreementText(progress.agreement);
  showAnnotators(progress);
}

function modelText(progress) {
  if (progress.error) return `Training failed: ${progress.error}`;
  const metric = progress.curve.at(-1)?.metric ?? "F1";
  const harder = progress.strategy === "uncertain" ? ", which are harder than other sentences" : "";
  const of = progress.curve.length ? `${metric} on held-out answers${harder}. ` : "";
  if (progress.training && !progress.trained_on) return `${of}Training …`;
  if (!progress.trained_on) return `${of}The model is trained after a few answers.`;
  const seconds = progress.seconds < 0.1 ? progress.seconds.toFixed(2) : progress.seconds.toFixed(1);
  return `${of}Trained on ${count(progress.trained_on, "answer")} in ${seconds} s${progress.training ? ", training again …" : "."}`;
}

function showLabels(progress, project) {
  const colours = Object.fromEntries(project.labels.map((label) => [label.name, label.colour]));
  $("label-table").tBodies[0].replaceChildren(...progress.labels.map((row) => {
    const name = element("td", {}, element("span", { class: `dot span-${colours[row.name] ?? 11}` }), row.name);
    if (row.weak) name.append(" ", element("span", { class: "weak", text: row.weak }));
    return element(
      "tr",
      {},
      name,
      element("td", { class: "number", text: row.count.toLocaleString("en") }),
      element("td", { class: "number", text: row.f1 === null ? "–" : row.f1.toFixed(0) }),
    );
  }));
}

function agreementText(agreement) {
  if (!agreement) return "";
  return `Of your last ${count(agreement.answers, "answer")}, ${whole(agreement.sentences)} were just as suggested; ${whole(agreement.tokens)} of the tokens.`;
}

function showAnnotators(progress) {
  $("annotator-table").tBodies[0].replaceChildren(...progress.annotators.map((row) => element(
    "tr",
    {},
    element("td", { text: row.name }),
    element("td", { class: "number", text: row.answers.toLocaleString("en") }),
    element("td", { class: "number", text: row.seconds === null ? "–" : row.seconds.toFixed(1) }),
  )));
  $("between-text").textContent = progress.between
    ? `Annotators agree on ${whole(progress.between.tokens)} of the tokens of ${count(progress.between.sentences, "sentence")} that several answered.`
    : "";
}
