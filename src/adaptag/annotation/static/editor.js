// The sentence that is being labelled: its tokens, the cursor, the selection, and what keys do.

import { element, fill, percent, spansOf } from "./tagged.js";

export class Editor {
  // container: the element of the sentence; say: takes messages for people who hear the page.
  constructor(container, project, say) {
    this.container = container;
    this.project = project;
    this.say = say;
    this.question = null;
    this.labels = [];
    this.history = [];
    this.anchor = 0;
    this.cursor = 0;
    container.setAttribute("role", "listbox");
    container.setAttribute("aria-multiselectable", "true");
    container.setAttribute("aria-label", "Tokens of the sentence");
    this.listenToPointer();
  }

  show(question) {
    this.question = question;
    this.labels = [...question.labels];
    this.history = [];
    this.anchor = 0;
    this.cursor = 0;
    this.shownAt = performance.now();
    this.draw();
  }

  get seconds() {
    return (performance.now() - this.shownAt) / 1000;
  }

  get selection() {
    return [Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor)];
  }

  get changed() {
    return this.history.length > 0;
  }

  // ---- drawing -----------------------------------------------------------------------------

  draw() {
    const [first, last] = this.selection;
    fill(this.container, this.question, this.labels, this.project, {
      token: (i, word) => this.token(i, word, i >= first && i <= last),
      probability: (span) => this.probability(span),
      onRemove: (span) => {
        this.select(span.first, span.first);
        this.clear();
      },
    });
    this.container.setAttribute("aria-activedescendant", `token-${this.cursor}`);
  }

  token(i, word, selected) {
    const label = this.labels[i];
    const spoken = label === null ? "not labelled" : label === "O" ? "" : label.replace(/^[BI]-/, "");
    return element("span", {
      id: `token-${i}`,
      class: `token${selected ? " selected" : ""}${i === this.cursor ? " cursor" : ""}`,
      role: "option",
      "aria-selected": String(selected),
      "aria-label": spoken ? `${word}, ${spoken}` : word,
      "data-token": i,
      text: word,
    });
  }

  // What the model said of a span that is still as it suggested it.
  probability(span) {
    const found = this.question.suggestion?.spans.find(
      ([first, last, label]) => first === span.first && last === span.last && label === span.label,
    );
    return found ? found[3] : null;
  }

  // ---- changes -----------------------------------------------------------------------------

  // The tokens that a label is given to: the selection, or the whole span that the cursor is in.
  target() {
    const [first, last] = this.selection;
    if (first === last && this.project.kind === "spans") {
      const span = spansOf(this.labels).find((s) => s.first <= first && s.last >= first);
      if (span) return [span.first, span.last];
    }
    return [first, last];
  }

  change(make) {
    const before = [...this.labels];
    const [first, last] = this.target();
    if (this.project.kind === "spans") {
      for (const span of spansOf(this.labels)) {
        if (span.first <= last && span.last >= first) this.labels.fill("O", span.first, span.last + 1);
      }
    }
    for (let i = first; i <= last; i += 1) this.labels[i] = make(i === first);
    if (this.labels.some((label, i) => label !== before[i])) this.history.push(before);
    return [first, last];
  }

  give(name) {
    const isTags = this.project.kind === "tags";
    const [first, last] = this.change((begins) => (isTags ? name : `${begins ? "B" : "I"}-${name}`));
    const next = isTags ? Math.min(last + 1, this.labels.length - 1) : last;
    this.select(next, next);
    this.say(`${this.question.words.slice(first, last + 1).join(" ")}: ${name}`);
  }

  clear() {
    this.change(() => (this.project.kind === "tags" ? null : "O"));
    this.select(this.cursor, this.cursor);
    this.say("Label removed");
  }

  unsure() {
    this.change(() => null);
    this.select(this.cursor, this.cursor);
    this.say("Not labelled: the model does not learn from it");
  }

  undoChange() {
    if (!this.history.length) return;
    this.labels = this.history.pop();
    this.draw();
  }

  select(anchor, cursor) {
    this.anchor = anchor;
    this.cursor = cursor;
    this.draw();
  }

  // ---- moving ------------------------------------------------------------------------------

  // Returns whether the key was one of those that move the cursor.
  move(key, extend) {
    const target = this.moveTarget(key);
    if (target === null) return false;
    this.select(extend ? this.anchor : target, target);
    this.container.querySelector(".cursor")?.scrollIntoView({ block: "nearest" });
    return true;
  }

  moveTarget(key) {
    const last = this.labels.length - 1;
    const forward = getComputedStyle(this.container).direction === "rtl" ? -1 : 1;
    const step = { ArrowLeft: -forward, ArrowRight: forward }[key];
    if (step) return Math.max(0, Math.min(last, this.cursor + step));
    if (key === "Home") return 0;
    if (key === "End") return last;
    if (key === "ArrowUp" || key === "ArrowDown") return this.lineTarget(key === "ArrowUp" ? -1 : 1);
    return null;
  }

  // The token of the line above or below that is nearest to the cursor.
  lineTarget(direction) {
    const boxes = [...this.container.querySelectorAll(".token")].map((t) => t.getBoundingClientRect());
    const here = boxes[this.cursor];
    const middle = (box) => (box.left + box.right) / 2;
    let best = this.cursor;
    let least = Infinity;
    boxes.forEach((box, i) => {
      const lines = direction * (box.top - here.top);
      if (lines < here.height / 2) return;
      const distance = lines * 1000 + Math.abs(middle(box) - middle(here));
      if (distance < least) [best, least] = [i, distance];
    });
    return best;
  }

  // ---- mouse and touch ---------------------------------------------------------------------

  listenToPointer() {
    const tokenAt = (event) => {
      const node = document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-token]");
      return node && this.container.contains(node) ? Number(node.dataset.token) : null;
    };
    let dragging = false;
    this.container.addEventListener("pointerdown", (event) => {
      const token = event.button === 0 ? tokenAt(event) : null;
      if (token === null) return;
      event.preventDefault();
      this.container.focus({ preventScroll: true });
      dragging = true;
      this.select(event.shiftKey ? this.anchor : token, token);
    });
    addEventListener("pointermove", (event) => {
      const token = dragging ? tokenAt(event) : null;
      if (token !== null && token !== this.cursor) this.select(this.anchor, token);
    });
    for (const end of ["pointerup", "pointercancel"]) {
      addEventListener(end, () => {
        dragging = false;
      });
    }
  }

  // What to say about where the labels come from.
  get state() {
    const { origin, suggestion, annotator } = this.question;
    if (origin === "answer") return { text: `labelled by ${annotator}`, kind: "answer" };
    if (origin === "undone") return { text: "undone: your labels", kind: "answer" };
    if (origin === "empty" || !suggestion) return { text: "no suggestion yet", kind: "empty" };
    const p = suggestion.confidence;
    const kind = p >= 0.8 ? "sure" : p >= 0.4 ? "fair" : "unsure";
    return { text: `model ${percent(p)} sure`, kind: `model-${kind}` };
  }
}
