// The views beside the labelling: review, search, and the project itself.

import { get, post } from "./api.js";
import { element, fill, percent } from "./tagged.js";

const $ = (id) => document.getElementById(id);
const POLL = 400; // milliseconds

function sentence(row, labels, project) {
  const node = element("div", { class: "tagged", dir: "auto" });
  const nothing = row.words.map(() => (project.kind === "tags" ? null : "O"));
  fill(node, row, labels ?? nothing, project);
  return node;
}

function button(text, action) {
  const node = element("button", { type: "button", text });
  node.addEventListener("click", action);
  return node;
}

export class ReviewView {
  constructor(shared) {
    this.shared = shared;
    this.timer = 0;
  }

  async open() {
    clearTimeout(this.timer);
    try {
      const found = await get("review");
      this.show(found);
      if (found.busy && this.shared.page.view === "review") {
        this.timer = setTimeout(() => this.open(), POLL);
      }
    } catch (error) {
      $("review-state").textContent = error.message;
    }
  }

  show({ busy, found, rows }) {
    const nothing = "No answer differs from the model. It needs at least eight answers to compare.";
    const state = found ? `${found} to look at` : busy ? "" : nothing;
    $("review-state").textContent = busy ? `Comparing … ${state}` : state;
    $("review-rows").replaceChildren(...rows.map((row) => this.row(row)));
  }

  row(row) {
    const { page, open, answer } = this.shared;
    return element(
      "li",
      { class: "card", "data-sentence": row.sentence },
      element("p", { class: "small faint", text: `${row.annotator} labelled (probability ${percent(row.probability)})` }),
      sentence(row, row.labels, page.project),
      element("p", { class: "small faint", text: "The model says" }),
      sentence(row, row.model, page.project),
      element(
        "div",
        { class: "row" },
        button("Keep", () => answer(row.sentence, row.labels)),
        button("Take the model's", () => answer(row.sentence, row.model)),
        button("Edit", () => open(row.sentence, "review")),
      ),
    );
  }
}

export class SearchView {
  constructor(shared) {
    this.shared = shared;
    $("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.search();
    });
    for (const id of ["search-status", "search-label"]) $(id).addEventListener("change", () => this.search());
  }

  open() {
    const { labels } = this.shared.page.project;
    const chosen = $("search-label").value;
    $("search-label").replaceChildren(
      element("option", { value: "", text: "Any label" }),
      ...labels.map((label) => element("option", { value: label.name, text: label.name })),
    );
    $("search-label").value = labels.some((label) => label.name === chosen) ? chosen : "";
    this.search();
    $("search-text").focus();
  }

  async search() {
    try {
      const { found, rows } = await get("search", {
        text: $("search-text").value,
        status: $("search-status").value,
        label: $("search-label").value,
      });
      const shown = found > rows.length ? `, the first ${rows.length} shown` : "";
      $("search-state").textContent = `${found.toLocaleString("en")} found${shown}`;
      $("search-rows").replaceChildren(...rows.map((row) => this.row(row)));
    } catch (error) {
      $("search-state").textContent = error.message;
    }
  }

  row(row) {
    const { page, open } = this.shared;
    const state = row.annotator === null ? "not labelled" : `labelled by ${row.annotator}`;
    return element(
      "li",
      { class: "card", "data-sentence": row.sentence },
      sentence(row, row.labels, page.project),
      element(
        "div",
        { class: "row" },
        button(row.annotator === null ? "Label" : "Edit", () => open(row.sentence, "search")),
        element("span", { class: "small faint", text: `${row.source} · ${row.sentence + 1} · ${state}` }),
      ),
    );
  }
}

const FORMAT_NAMES = {
  auto: "detect",
  text: "text",
  columns: "columns",
  jsonl: "JSON lines",
  "label-studio": "Label Studio",
  docbin: "spaCy DocBin",
  model: "the model",
};
const STRATEGY_NAMES = {
  uncertain: "the one the model can learn most from",
  random: "any (random order)",
  "in-order": "in the order of the files",
};

export class ProjectView {
  constructor(shared) {
    this.shared = shared;
    const on = (id, event, action) => $(id).addEventListener(event, (happened) => {
      happened.preventDefault();
      shared.attempt(action);
    });
    on("label-form", "submit", () => this.addLabel());
    on("import-form", "submit", () => this.importTexts());
    on("annotator-form", "submit", async () => shared.setAnnotator($("annotator").value.trim() || "annotator"));
    on("strategy", "change", async () => this.set(await post("strategy", { strategy: $("strategy").value })));
  }

  open() {
    const { project, annotator } = this.shared.page;
    const options = (names, texts) => names.map((name) => element("option", { value: name, text: texts[name] ?? name }));
    $("import-format").replaceChildren(...options(project.imports, FORMAT_NAMES));
    $("strategy").replaceChildren(...options(project.strategies, STRATEGY_NAMES));
    $("exports").replaceChildren(...project.exports.map((name) => element("a", {
      class: "download",
      href: `/api/export?format=${name}`,
      download: "",
      text: FORMAT_NAMES[name] ?? name,
    })));
    $("annotator").value = annotator;
    this.set(project);
  }

  set(project) {
    this.shared.setProject(project);
    $("strategy").value = project.strategy;
    $("label-list").replaceChildren(...project.labels.map((label) => {
      const item = element("li", { class: `chip span-${label.colour}` }, element("span", { text: label.name }));
      if (label.key) item.append(element("kbd", { text: label.key }));
      const remove = button("×", () => this.shared.attempt(
        async () => this.set(await post("labels/remove", { name: label.name })),
      ));
      remove.className = "remove";
      remove.setAttribute("aria-label", `Remove ${label.name}`);
      item.append(remove);
      return item;
    }));
  }

  async addLabel() {
    this.set(await post("labels", { name: $("label-name").value }));
    $("label-name").value = "";
    $("label-name").focus();
  }

  async importTexts() {
    const file = $("import-file").files[0];
    const content = file ? await file.text() : $("import-text").value;
    const name = file ? file.name : "pasted text";
    const project = await post("import", { name, content, format: $("import-format").value });
    const labelled = project.labelled ? `, ${project.labelled.toLocaleString("en")} of them labelled` : "";
    const cut = project.cut ? ` ${project.cut} spans begin or end inside a token, which is left unlabelled.` : "";
    $("import-state").textContent = `${project.added.toLocaleString("en")} sentences added${labelled}.${cut}`;
    $("import-form").reset();
    this.set(project);
  }
}
