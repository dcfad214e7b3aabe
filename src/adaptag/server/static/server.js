// The page at /: text in, what a model makes of it out.

import { UNCERTAIN, element, percent, request, taggedText } from "./common.js";

const TASKS = { model: ["tag", "Tag"], segmenter: ["segment", "Segment"], classifier: ["classify", "Classify"] };
const EXPLAINED = 5000; // characters of a text whose tags are explained

const byId = (id) => document.getElementById(id);
let models = [];
let latest = 0; // the number of the last request; answers to earlier ones are dropped

const chosenModel = () => models.find((model) => model.name === byId("model").value);

function say(error) {
  byId("message").textContent = error ? error.message : "";
  byId("message").hidden = !error;
}

function adapt() {
  const model = chosenModel();
  if (!model) return;
  byId("submit").textContent = TASKS[model.kind][1];
  byId("nbest-label").hidden = model.kind !== "model";
}

async function submit() {
  const text = byId("text").value;
  const model = chosenModel();
  if (!model || !text.trim()) return;
  const number = ++latest;
  const body = { text, model: model.name };
  const nbest = Number(byId("nbest").value);
  if (model.kind !== "model") body.probabilities = true;
  else if (nbest && text.length * nbest <= 1e6) body.nbest = nbest;
  byId("submit").disabled = true;
  say(null);
  try {
    const begin = performance.now();
    const answer = await request(TASKS[model.kind][0], body);
    const milliseconds = performance.now() - begin;
    if (number !== latest) return;
    show(model, text, answer, milliseconds);
    if (model.kind === "model" && text.length <= EXPLAINED) {
      const explanation = await request("explain", { text, model: model.name });
      if (number === latest) showTokens(model, text, answer, explanation.tokens);
    }
  } catch (error) {
    if (number === latest) say(error);
  } finally {
    byId("submit").disabled = false;
  }
}

function show(model, text, answer, milliseconds) {
  const time = `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
  for (const id of ["explanation", "alternatives", "legend"]) {
    byId(id).replaceChildren();
    byId(id).hidden = true;
  }
  byId("result").hidden = false;
  if (model.kind === "segmenter") showWords(answer, time);
  else if (model.kind === "classifier") showChances(answer, time);
  else showSpans(model, text, answer, time);
}

function showSpans(model, text, answer, time) {
  const characters = Array.from(text);
  byId("answer").replaceChildren(taggedText(characters, answer.spans, model.colours));
  const n = answer.spans.length;
  byId("summary").textContent = `${n} span${n === 1 ? "" : "s"}, ${time}`;
  const labels = [...new Set(answer.spans.map((span) => span.label))].sort();
  byId("legend").hidden = !labels.length;
  byId("legend").append(...labels.map((label) => {
    const count = answer.spans.filter((span) => span.label === label).length;
    return element("span", `span span-${model.colours[label] ?? 11}`, `${label} ${count}`);
  }));
  if (answer.nbest?.length) showAlternatives(characters, answer.nbest, model.colours);
}

function showAlternatives(characters, alternatives, colours) {
  const key = (span) => `${span.start} ${span.end} ${span.label}`;
  const best = new Set(alternatives[0].spans.map(key));
  const items = alternatives.map((alternative, rank) => {
    const paragraph = taggedText(characters, alternative.spans, colours);
    paragraph.querySelectorAll("mark").forEach((mark, k) => { // what differs stands out
      mark.classList.toggle("same", rank > 0 && best.has(key(alternative.spans[k])));
    });
    return element("li", "", [element("div", "number", percent(alternative.probability)), paragraph]);
  });
  byId("alternatives").replaceChildren(
    element("h2", "", "Alternatives"), element("ol", "alternatives", items));
  byId("alternatives").hidden = false;
}

function showTokens(model, text, answer, tokens) {
  if (!tokens.length) return;
  const paragraph = taggedText(Array.from(text), answer.spans, model.colours, tokens);
  const buttons = [...paragraph.querySelectorAll(".token")];
  if (!buttons.length) return;
  buttons[0].tabIndex = 0; // the arrow keys lead to the others
  const choose = (button) => {
    for (const other of buttons) {
      other.classList.toggle("chosen", other === button);
      other.tabIndex = other === button ? 0 : -1;
    }
    explain(tokens[Number(button.dataset.token)]);
  };
  paragraph.addEventListener("click", (event) => {
    const mark = event.target.closest("mark");
    const button = event.target.closest(".token") ?? mark?.querySelector(".token");
    if (button) choose(button);
  });
  paragraph.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(event.target);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (at < 0) return;
    if (step !== undefined || event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      const button = buttons[Math.min(Math.max(at + (step ?? 0), 0), buttons.length - 1)];
      choose(button);
      button.focus();
    }
  });
  byId("answer").replaceChildren(paragraph);
  byId("summary").textContent += ". Choose a word to see why it is tagged so.";
}

function explain(token) {
  const rival = token.rival
    ? [" rather than ", element("b", "", token.rival), ` (${percent(token.rival_probability)})`] : [];
  const heaviest = Math.max(1e-9, ...[...token.for, ...token.against].map((item) => Math.abs(item.weight)));
  const side = (title, classes, items) => element("div", classes, [
    element("h3", "", title),
    items.length ? element("table", "", items.map((item) => element("tr", "", [
      element("td", "feature", element("code", "", item.feature)),
      element("td", "number", `${item.weight > 0 ? "+" : "−"}${Math.abs(item.weight).toFixed(2)}`),
      element("td", "", element("meter", "", null,
        { min: 0, max: heaviest, value: Math.abs(item.weight), "aria-hidden": "true" })),
    ]))) : element("p", "faint small", "nothing"),
  ]);
  byId("explanation").replaceChildren(
    element("h2", "", `Why “${token.token}”?`),
    element("div", "card", [
      element("p", "choice", [element("b", "", token.label), ` (${percent(token.probability)})`, ...rival]),
      element("div", "sides", [
        side(`For ${token.label}`, "for", token.for),
        side(`Against ${token.label}`, "against", token.against),
      ]),
    ]));
  byId("explanation").hidden = false;
}

function showWords(answer, time) {
  const paragraph = element("p", "tagged", null, { dir: "auto" });
  answer.words.forEach((word, k) => {
    const p = answer.probabilities[k];
    paragraph.append(element("span", `word${p < UNCERTAIN ? " uncertain" : ""}`, word, { title: percent(p) }), "\u200b");
  });
  byId("answer").replaceChildren(paragraph);
  byId("summary").textContent = `${answer.words.length} words, ${time}`;
}

function showChances(answer, time) {
  const sorted = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 20);
  const rows = sorted.map(([label, p]) => element("tr", "", [
    element("td", "name", label === answer.label ? element("b", "", label) : label),
    element("td", "number", percent(p)),
    element("td", "bar", element("meter", "", null, { min: 0, max: 1, value: p, "aria-hidden": "true" })),
  ]));
  byId("answer").replaceChildren(element("table", "chances", rows));
  byId("summary").textContent = time;
}

byId("form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
});
byId("model").addEventListener("change", () => { adapt(); submit(); });
byId("nbest").addEventListener("change", submit);

try {
  models = (await request("models")).models;
  byId("model").append(...models.map((model) => element("option", "", model.name, { value: model.name })));
  adapt();
} catch (error) {
  say(error);
}
