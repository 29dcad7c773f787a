// The picture of the graph: nearer and further, dragged about, and what one is joined to while it is pointed at.
"use strict";

const MOST_NOTES = 14; // kinds of edges that are written at once
const kept = new Map(); // where somebody looked, by picture, so that a moved slider leaves it there
const svgOf = (inside) => inside.closest(".canvas")?.querySelector(".graph");

function view(svg) {
  const { x, y, width, height } = svg.viewBox.baseVal;
  return { x, y, width, height };
}

function look(svg, { x, y, width }) {
  const whole = svg.whole;
  const wide = Math.min(Math.max(width, whole.width / 12), whole.width);
  const high = (wide * whole.height) / whole.width;
  const left = Math.min(Math.max(x, 0), whole.width - wide);
  const top = Math.min(Math.max(y, 0), whole.height - high);
  const times = whole.width / wide;
  svg.setAttribute("viewBox", `${left} ${top} ${wide} ${high}`);
  svg.style.setProperty("--k", times);
  svg.dataset.near = times >= 4 ? 4 : times >= 2 ? 2 : 1;
  kept.set(svg.closest(".canvas").dataset.key, { x: left, y: top, width: wide });
}

// Nearer by so many times, around a point of the picture.
function zoom(svg, times, at) {
  const { x, y, width, height } = view(svg);
  const point = at ?? { x: x + width / 2, y: y + height / 2 };
  look(svg, { x: point.x - (point.x - x) / times, y: point.y - (point.y - y) / times, width: width / times });
}

function pointOf(svg, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}

function move(svg, right, down) {
  const { x, y, width } = view(svg);
  look(svg, { x: x + right, y: y + down, width });
}

function wheel(event) {
  const svg = event.target.closest?.(".graph");
  if (!svg || !(event.ctrlKey || document.activeElement === svg)) return; // else the page is what is scrolled
  event.preventDefault();
  zoom(svg, Math.exp(-event.deltaY / 400), pointOf(svg, event));
}

let drag = null;
function grab(event) {
  const svg = event.target.closest?.(".graph");
  if (!svg || event.button || event.pointerType === "touch") return;
  drag = { svg, from: pointOf(svg, event), moved: false };
}
function pull(event) {
  if (!drag) return;
  const to = pointOf(drag.svg, event);
  if (Math.abs(to.x - drag.from.x) + Math.abs(to.y - drag.from.y) < 3) return;
  drag.moved = true;
  move(drag.svg, drag.from.x - to.x, drag.from.y - to.y);
}

// What one is joined to: its edges with their kinds, and the names at their other ends.
function point(event) {
  const dot = event.target.closest?.(".dots a");
  const svg = event.target.closest?.(".graph");
  if (!svg || drag?.moved) return;
  leave(svg);
  if (!dot) return;
  const near = new Set([dot.dataset.n]);
  const notes = svg.querySelector(".notes");
  let written = 0;
  for (const edge of svg.querySelectorAll(".edges path")) {
    const ends = edge.dataset.e.split(" ");
    if (!ends.includes(dot.dataset.n)) continue;
    edge.classList.add("near");
    ends.forEach((end) => near.add(end));
    if (written++ < MOST_NOTES) notes.append(note(edge, ends[0] === dot.dataset.n));
  }
  for (const number of near) {
    const one = svg.querySelector(`.dots a[data-n="${number}"]`);
    one.classList.add("near");
    if (near.size <= 2 * MOST_NOTES && !one.querySelector("text")) named(one);
  }
  svg.classList.add("focused");
}

function leave(svg) {
  svg.classList.remove("focused");
  svg.querySelectorAll(".near").forEach((one) => one.classList.remove("near"));
  svg.querySelectorAll(".for-now").forEach((one) => one.remove());
}

function text(says, className, x, y) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "text");
  made.textContent = says;
  made.setAttribute("class", className);
  made.setAttribute("x", x);
  made.setAttribute("y", y);
  return made;
}

// Nearer to the other end: around one that has many edges there is no room.
function note(edge, out) {
  const { x, y } = edge.getPointAtLength(edge.getTotalLength() * (out ? 0.68 : 0.32));
  const group = document.createElementNS("http://www.w3.org/2000/svg", "g");
  group.setAttribute("class", "fixed for-now");
  group.setAttribute("transform", `translate(${x} ${y})`);
  const says = text(edge.parentNode.querySelector("title").textContent, "said", 0, 4);
  says.setAttribute("text-anchor", "middle");
  group.append(says);
  return group;
}

function named(dot) {
  dot.firstChild.append(text(dot.querySelector("title").textContent.split("\n")[0], "for-now", 9, 4));
}

function key(event) {
  const svg = event.target;
  if (!svg.classList?.contains("graph")) return;
  const step = view(svg).width / 8;
  const doing = {
    "+": () => zoom(svg, 1.5), "=": () => zoom(svg, 1.5), "-": () => zoom(svg, 1 / 1.5), "0": () => look(svg, svg.whole),
    ArrowLeft: () => move(svg, -step, 0), ArrowRight: () => move(svg, step, 0), ArrowUp: () => move(svg, 0, -step), ArrowDown: () => move(svg, 0, step),
  }[event.key];
  const still = event.key.startsWith("Arrow") && svg.dataset.near === "1" && view(svg).width === svg.whole.width;
  if (!doing || still || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  doing();
}

function click(event) {
  const button = event.target.closest?.("[data-zoom]");
  if (button) {
    const svg = svgOf(button);
    const times = Number(button.dataset.zoom);
    times ? zoom(svg, times) : look(svg, svg.whole);
  }
  const dot = event.target.closest?.(".dots a, [data-to]");
  if (!dot || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (drag?.moved) event.preventDefault();
  else if (document.querySelector(".graph .root")) {
    // A path is shown where one is; the page stays where it is.
    event.preventDefault();
    htmx.ajax("GET", dot.getAttribute("href"), { target: "#shown", swap: "outerHTML" });
  }
}

function begin() {
  for (const svg of document.querySelectorAll(".graph")) {
    if (svg.whole) continue;
    svg.whole = view(svg);
    const canvas = svg.closest(".canvas");
    canvas.querySelector(".zoom").hidden = false;
    svg.parentNode.scrollLeft = (svg.clientWidth - svg.parentNode.clientWidth) / 2;
    if (kept.has(canvas.dataset.key)) look(svg, kept.get(canvas.dataset.key));
  }
}

document.addEventListener("wheel", wheel, { passive: false });
document.addEventListener("pointerdown", grab);
document.addEventListener("pointermove", pull);
document.addEventListener("pointerup", () => setTimeout(() => { drag = null; }));
document.addEventListener("pointerover", point);
document.addEventListener("focusin", point);
document.addEventListener("keydown", key);
document.addEventListener("click", click);
document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".graph")) event.preventDefault(); });
document.addEventListener("htmx:afterSettle", begin);
begin();
