// What the pages share: requests, elements, texts with spans.

export async function request(path, body) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  };
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer.");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.status === 401) {
    throw new Error("A token is required: open this page with ?token=TOKEN at the end of its address.");
  }
  if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
  return answer;
}

// An element with classes, text or children, and attributes.
export function element(tag, classes, content, attributes = {}) {
  const made = document.createElement(tag);
  if (classes) made.className = classes;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (content !== undefined && content !== null) made.append(...[content].flat());
  return made;
}

export function percent(probability) {
  if (probability === 0 || probability === 1) return `${100 * probability}%`;
  if (probability >= 0.005 && probability < 0.995) return `${Math.round(100 * probability)}%`;
  return `${(100 * Math.min(Math.max(probability, 0.001), 0.999)).toFixed(1)}%`;
}

export const UNCERTAIN = 0.5;

// A text with spans. Offsets count characters (code points), as the server's do. Tokens, if there
// are any, become elements of their own.
export function taggedText(characters, spans, colours, tokens = []) {
  const paragraph = element("p", "tagged", null, { dir: "auto" });
  let position = 0;
  const inside = (begin, end) => textWithTokens(characters, begin, end, tokens);
  for (const span of spans) {
    if (span.start > position) paragraph.append(...inside(position, span.start));
    const uncertain = span.probability !== undefined && span.probability < UNCERTAIN;
    const figure = span.probability === undefined ? "" : ` ${percent(span.probability)}`;
    const classes = `span span-${colours[span.label] ?? 11}${uncertain ? " uncertain" : ""}`;
    const mark = element("mark", classes, inside(span.start, span.end));
    mark.append(element("span", "span-label", `${span.label || "span"}${figure}${uncertain ? "?" : ""}`));
    paragraph.append(mark);
    position = span.end;
  }
  if (position < characters.length) paragraph.append(...inside(position, characters.length));
  return paragraph;
}

function textWithTokens(characters, begin, end, tokens) {
  const parts = [];
  let position = begin;
  tokens.forEach((token, number) => {
    if (token.start < begin || token.end > end) return;
    if (token.start > position) parts.push(characters.slice(position, token.start).join(""));
    const text = characters.slice(token.start, token.end).join("");
    parts.push(element("span", "token", text, { "data-token": number, role: "button", tabindex: "-1" }));
    position = token.end;
  });
  if (position < end) parts.push(characters.slice(position, end).join(""));
  return parts;
}
