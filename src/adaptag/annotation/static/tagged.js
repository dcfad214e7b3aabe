// Sentences with their labels, as elements of the page.

export function element(name, { text, ...attributes } = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

// A probability in percent; certain is nothing.
export function percent(p) {
  const rounded = Math.min(99, Math.round(100 * p));
  return rounded < 1 ? "< 1 %" : `${rounded} %`;
}

// The spans that labels spell: first and last token, and the label.
export function spansOf(labels) {
  const spans = [];
  labels.forEach((label, i) => {
    const open = spans.at(-1);
    if (label === null || label === "O") return;
    const kind = label.slice(2);
    if (label.startsWith("I-") && open && open.last === i - 1 && open.label === kind) open.last = i;
    else spans.push({ first: i, last: i, label: kind });
  });
  return spans;
}

const UNCERTAIN = 0.7; // probability, below which a span is drawn as uncertain

// Fill an element with a sentence. `token` makes the element of a token of its number and word.
export function fill(container, sentence, labels, project, { token, probability, onRemove } = {}) {
  const makeToken = token ?? ((i, word) => document.createTextNode(word));
  const colours = Object.fromEntries(project.labels.map((label) => [label.name, label.colour]));
  container.replaceChildren();
  if (project.kind === "tags") {
    fillTags(container, sentence, labels, colours, makeToken);
    return;
  }
  const spanFrom = new Map(spansOf(labels).map((span) => [span.first, span]));
  for (let i = 0; i < sentence.words.length; i += 1) {
    container.append(sentence.gaps[i]);
    const span = spanFrom.get(i);
    if (span) {
      container.append(spanElement(span, sentence, colours, makeToken, probability, onRemove));
      i = span.last;
    } else {
      container.append(unlabelled(makeToken(i, sentence.words[i]), labels[i] === null));
    }
  }
}

function unlabelled(node, unsure) {
  return unsure ? element("span", { class: "unsure", title: "not labelled" }, node) : node;
}

function spanElement(span, sentence, colours, makeToken, probability, onRemove) {
  const p = probability?.(span) ?? null;
  const uncertain = p !== null && p < UNCERTAIN;
  const node = element("span", {
    class: `span span-${colours[span.label] ?? 11}${uncertain ? " uncertain" : ""}`,
    role: onRemove ? "group" : null,
    "aria-label": onRemove ? span.label : null,
    title: p === null ? span.label : `${span.label}, ${percent(p)} sure`,
  });
  for (let i = span.first; i <= span.last; i += 1) {
    if (i > span.first) node.append(sentence.gaps[i]);
    node.append(makeToken(i, sentence.words[i]));
  }
  const name = element("span", { class: "span-label", text: span.label });
  if (p !== null) name.append(element("span", { class: "sure", text: ` ${percent(p)}` }));
  if (onRemove) {
    name.setAttribute("aria-hidden", "true");
    name.classList.add("removable");
    name.title = `Remove ${span.label}`;
    name.addEventListener("click", () => onRemove(span));
  }
  node.append(name);
  return node;
}

function fillTags(container, sentence, labels, colours, makeToken) {
  container.classList.add("tags");
  sentence.words.forEach((word, i) => {
    const label = labels[i];
    const tag = label === null ? element("span", { class: "tag missing", text: "–" }) : element(
      "span",
      { class: `tag span span-${colours[label] ?? 11}`, text: label },
    );
    tag.setAttribute("aria-hidden", "true");
    container.append(sentence.gaps[i] ? " " : "", element("span", { class: "pair" }, makeToken(i, word), tag));
  });
}
