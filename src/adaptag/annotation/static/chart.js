// The learning curve as inline SVG.

const NS = "http://www.w3.org/2000/svg";
const WIDTH = 320;
const HEIGHT = 180;
const BOX = { left: 30, right: WIDTH - 40, top: 10, bottom: HEIGHT - 24 };

function shape(name, attributes, text) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// A round step so that there are at most four of them.
function niceStep(range) {
  for (let power = 1; ; power *= 10) {
    for (const factor of [1, 2, 5]) {
      if (range / (factor * power) <= 4) return factor * power;
    }
  }
}

export function drawCurve(container, points) {
  if (!points.length) {
    const note = document.createElement("p");
    note.className = "faint";
    note.textContent = "The curve begins after the first answers.";
    container.replaceChildren(note);
    return;
  }
  const last = points.at(-1);
  const most = Math.max(10, last.answers);
  const x = (answers) => BOX.left + ((BOX.right - BOX.left) * answers) / most;
  const y = (score) => BOX.bottom - ((BOX.bottom - BOX.top) * score) / 100;
  const svg = shape("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    class: "curve",
    role: "img",
    "aria-label": `${last.metric} on held-out answers: ${last.score.toFixed(1)} after ${last.answers} answers`,
    "data-points": points.length,
    "data-score": last.score,
  });
  for (let score = 0; score <= 100; score += 25) {
    svg.append(
      shape("line", { x1: BOX.left, x2: BOX.right, y1: y(score), y2: y(score), class: "grid" }),
      shape("text", { x: BOX.left - 6, y: y(score) + 4, "text-anchor": "end" }, score),
    );
  }
  const step = niceStep(most);
  for (let n = step; n <= most; n += step) {
    svg.append(shape("text", { x: x(n), y: HEIGHT - 8, "text-anchor": "middle" }, n));
  }
  const path = points.map((p) => `${x(p.answers).toFixed(1)},${y(p.score).toFixed(1)}`);
  const floor = `${x(last.answers).toFixed(1)},${y(0)} ${x(points[0].answers).toFixed(1)},${y(0)}`;
  svg.append(
    shape("polygon", { points: `${path.join(" ")} ${floor}`, class: "area" }),
    shape("polyline", { points: path.join(" "), class: "line" }),
  );
  for (const p of points.length > 40 ? [last] : points) {
    const dot = shape("circle", { cx: x(p.answers), cy: y(p.score), r: p === last ? 4 : 2.5, class: "dot" });
    dot.append(shape("title", {}, `${p.score.toFixed(1)} after ${p.answers} answers`));
    svg.append(dot);
  }
  svg.append(shape("text", { x: x(last.answers) + 8, y: y(last.score) + 5, class: "last" }, last.score.toFixed(0)));
  container.replaceChildren(svg);
}
