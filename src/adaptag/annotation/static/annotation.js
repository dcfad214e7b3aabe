// The page: loads the project, shows sentences, sends answers, and switches views.

import { get, post } from "./api.js";
import { Editor } from "./editor.js";
import { showProgress } from "./progress.js";
import { element } from "./tagged.js";
import { ProjectView, ReviewView, SearchView } from "./views.js";

const $ = (id) => document.getElementById(id);
const POLL = 300; // milliseconds between looks at training
const NAME = "adaptag-annotator";

const page = {
  project: null,
  annotator: "",
  view: "label",
  returnTo: "label", // the view that a sentence was opened from
  busy: false,
  progress: null,
};
let editor;
let views;
let timer = 0;

// ---- messages ------------------------------------------------------------------------------

function say(text) {
  $("status").textContent = text;
}

function problem(error) {
  $("problem").textContent = error ? error.message : "";
  $("problem").hidden = !error;
}

// Run something that talks to the server; what fails is shown, and nothing else changes.
async function attempt(action) {
  if (page.busy) return;
  page.busy = true;
  document.body.classList.add("busy");
  try {
    await action();
    problem(null);
  } catch (error) {
    problem(error);
  } finally {
    page.busy = false;
    document.body.classList.remove("busy");
  }
}

// ---- labelling -----------------------------------------------------------------------------

function show(question) {
  $("nothing").hidden = question !== null;
  document.querySelector(".editor").hidden = question === null;
  if (question === null) {
    editor.question = null;
    $("nothing-text").textContent = page.progress?.sentences
      ? "All sentences are labelled or skipped. Look at Review for likely mistakes, or export the labels under Project."
      : "The project has no text yet: import some under Project.";
    return;
  }
  editor.show(question);
  const { text, kind } = editor.state;
  $("state").textContent = text;
  $("state").className = `state ${kind}`;
  $("place").textContent = `${question.source} · ${question.sentence + 1}`;
  $("sentence").focus({ preventScroll: true });
}

function update(progress) {
  page.progress = progress;
  showProgress(progress, page.project);
  clearTimeout(timer);
  if (progress.training) {
    timer = setTimeout(async () => {
      try {
        update(await get("progress"));
      } catch {
        clearTimeout(timer); // the next answer says that the server is gone
      }
    }, POLL);
  }
}

function take(result) {
  update(result.progress);
  if (page.returnTo === "label") {
    show(result.next);
    return;
  }
  const view = page.returnTo;
  page.returnTo = "label";
  switchTo(view);
}

const accept = () => attempt(async () => {
  const { question, labels, seconds } = editor;
  const suggestion = question.suggestion;
  const result = await post("answer", {
    annotator: page.annotator,
    sentence: question.sentence,
    labels,
    suggested: suggestion?.labels ?? null,
    confidence: suggestion?.confidence ?? null,
    seconds,
    next: page.returnTo === "label",
  });
  take(result);
  say(result.kind === "accepted" ? "Saved, as suggested" : "Saved");
});

const skip = () => attempt(async () => {
  if (page.returnTo !== "label") { // it was opened to be looked at
    const view = page.returnTo;
    page.returnTo = "label";
    switchTo(view);
    return;
  }
  const { question, seconds } = editor;
  take(await post("skip", { annotator: page.annotator, sentence: question.sentence, seconds }));
  say("Skipped");
});

const undo = () => attempt(async () => {
  const result = await post("undo", { annotator: page.annotator });
  update(result.progress);
  if (result.next === null) {
    say("There is nothing to undo");
    return;
  }
  page.returnTo = "label";
  show(result.next);
  say("Undone: the last answer is open again");
});

const open = (number, from) => attempt(async () => {
  const question = await get("sentence", { number });
  page.returnTo = from;
  setView("label");
  show(question);
});

// Answer without opening: used by the review.
const answer = (number, labels) => attempt(async () => {
  const values = { annotator: page.annotator, sentence: number, labels, next: false };
  update((await post("answer", values)).progress);
  switchTo("review");
});

// ---- views ---------------------------------------------------------------------------------

function setView(name) {
  page.view = name;
  for (const tab of document.querySelectorAll("[data-view]")) {
    if (tab.dataset.view === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
    $(`view-${tab.dataset.view}`).hidden = tab.dataset.view !== name;
  }
}

function switchTo(name) {
  setView(name);
  if (name !== "label") {
    views[name].open();
    return;
  }
  if (page.returnTo === "label") loadNext();
}

const loadNext = () => attempt(async () => {
  page.returnTo = "label";
  const result = await get("next", { annotator: page.annotator });
  update(result.progress);
  show(result.next);
});

// ---- the project ---------------------------------------------------------------------------

function setProject(project) {
  page.project = project;
  if (editor) editor.project = project;
  document.title = `${project.name} · labelling`;
  $("title").textContent = project.name;
  $("label-bar").replaceChildren(...project.labels.map((label) => {
    const button = element(
      "button",
      { type: "button", class: `chip span-${label.colour}`, "data-label": label.name, "aria-keyshortcuts": label.key || null },
      element("span", { text: label.name }),
    );
    if (label.key) button.append(element("kbd", { text: label.key }));
    button.addEventListener("click", () => give(label.name));
    return button;
  }));
  if (!project.labels.length) {
    $("label-bar").append(element("span", { class: "faint", text: "No labels yet: add some under Project." }));
  }
  if (page.progress) showProgress(page.progress, project);
}

function give(name) {
  if (!editor.question || page.busy) return;
  editor.give(name);
  $("sentence").focus({ preventScroll: true });
}

function setAnnotator(name) {
  page.annotator = name;
  localStorage.setItem(NAME, name);
}

// ---- keys ----------------------------------------------------------------------------------

const COMMANDS = {
  Enter: accept,
  s: skip,
  u: undo,
  Backspace: () => editor.clear(),
  Delete: () => editor.clear(),
  x: () => editor.unsure(),
};

function isTyping(event) {
  return event.target.matches("input, select, textarea") || $("help").open;
}

addEventListener("keydown", (event) => {
  if (isTyping(event)) {
    if (event.key === "Escape" && !$("help").open) switchTo("label");
    return;
  }
  if (event.key === "?") {
    $("help").showModal();
  } else if (event.key === "/" && !event.ctrlKey) {
    switchTo("search");
  } else if (event.key === "Escape" && page.view !== "label") {
    switchTo("label");
  } else if (page.view === "label" && !labelKey(event)) {
    return;
  } else if (page.view !== "label") {
    return;
  }
  event.preventDefault();
});

// Returns whether a key did something in the view of labels.
function labelKey(event) {
  if (event.altKey || event.isComposing) return false;
  if (event.ctrlKey || event.metaKey) {
    if (event.key !== "z" || !editor.question) return false;
    editor.undoChange();
    return true;
  }
  const onButton = event.target.matches("button, a, summary");
  if (onButton && (event.key === "Enter" || event.key === " ")) return false;
  if (event.key === "u") return undo(), true;
  if (!editor.question || page.busy) return false;
  if (editor.move(event.key, event.shiftKey)) return true;
  const label = page.project.labels.find((l) => l.key === event.key);
  if (label) return give(label.name), true;
  const command = COMMANDS[event.key];
  if (!command || (event.repeat && command !== COMMANDS.Backspace)) return false;
  command();
  return true;
}

// ---- start ---------------------------------------------------------------------------------

function listen() {
  $("accept").addEventListener("click", accept);
  $("skip").addEventListener("click", skip);
  $("undo").addEventListener("click", undo);
  for (const [id, action] of [["clear", () => editor.clear()], ["unsure", () => editor.unsure()]]) {
    $(id).addEventListener("click", () => {
      action();
      $("sentence").focus({ preventScroll: true });
    });
  }
  $("help-button").addEventListener("click", () => $("help").showModal());
  for (const tab of document.querySelectorAll("[data-view]")) {
    tab.addEventListener("click", () => switchTo(tab.dataset.view));
  }
}

await attempt(async () => {
  const project = await get("project");
  page.annotator = localStorage.getItem(NAME) || project.annotator;
  editor = new Editor($("sentence"), project, say);
  const shared = { page, attempt, open, answer, setProject, setAnnotator, reload: loadNext };
  views = {
    review: new ReviewView(shared),
    search: new SearchView(shared),
    project: new ProjectView(shared),
  };
  setProject(project);
  listen();
  const result = await get("next", { annotator: page.annotator });
  update(result.progress);
  show(result.next);
  if (!project.sentences || !project.labels.length) switchTo("project");
});
document.body.dataset.ready = "true";
