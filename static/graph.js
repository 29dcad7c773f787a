// The drawing of the graph: zoom, pan, and the neighbours of the entity under the pointer.
import { delegate, listen } from "./events.js";
import { runAction } from "./keyboard.js";

const MAX_EDGE_LABELS = 14;
const MAX_ZOOM = 12;
const SVG = "http://www.w3.org/2000/svg";

const views = new Map(); // last view by drawing, so that a moved slider keeps it

function viewOf(svg) {
  const { x, y, width, height } = svg.viewBox.baseVal;
  return { x, y, width, height };
}

function setView(svg, { x, y, width }) {
  const { whole } = svg;
  const shownWidth = Math.min(Math.max(width, whole.width / MAX_ZOOM), whole.width);
  const shownHeight = (shownWidth * whole.height) / whole.width;
  const left = Math.min(Math.max(x, 0), whole.width - shownWidth);
  const top = Math.min(Math.max(y, 0), whole.height - shownHeight);
  const factor = whole.width / shownWidth;
  svg.setAttribute("viewBox", `${left} ${top} ${shownWidth} ${shownHeight}`);
  svg.style.setProperty("--k", factor);
  svg.dataset.near = factor >= 4 ? 4 : factor >= 2 ? 2 : 1;
  views.set(svg.closest(".canvas").dataset.key, { x: left, y: top, width: shownWidth });
}

// Zoom around a point of the drawing, by default its centre.
function zoom(svg, factor, around) {
  const { x, y, width, height } = viewOf(svg);
  const point = around ?? { x: x + width / 2, y: y + height / 2 };
  setView(svg, { x: point.x - (point.x - x) / factor, y: point.y - (point.y - y) / factor, width: width / factor });
}

function pan(svg, right, down) {
  const { x, y, width } = viewOf(svg);
  setView(svg, { x: x + right, y: y + down, width });
}

function pointOf(svg, event) {
  return new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
}

// The wheel zooms with Ctrl or while the drawing has the focus; otherwise it scrolls the page.
function onWheel(svg, event) {
  if (!(event.ctrlKey || document.activeElement === svg)) return;
  event.preventDefault();
  zoom(svg, Math.exp(-event.deltaY / 400), pointOf(svg, event));
}

let drag = null;

function startDrag(svg, event) {
  if (event.button || event.pointerType === "touch") return;
  drag = { svg, from: pointOf(svg, event), moved: false };
}

function onPointerMove(event) {
  if (!drag) return;
  const to = pointOf(drag.svg, event);
  if (Math.abs(to.x - drag.from.x) + Math.abs(to.y - drag.from.y) < 3) return;
  drag.moved = true;
  pan(drag.svg, drag.from.x - to.x, drag.from.y - to.y);
}

// After the click that follows, which must know whether the pointer moved.
function endDrag() {
  setTimeout(() => { drag = null; });
}

// Highlights the edges of a node, with their predicates, and the nodes at their other ends.
function highlight(svg, event) {
  if (drag?.moved) return;
  clearHighlight(svg);
  const node = event.target.closest(".dots a");
  if (!node) return;
  const near = new Set([node.dataset.n]);
  const notes = svg.querySelector(".notes");
  let labels = 0;
  for (const edge of svg.querySelectorAll(".edges path")) {
    const ends = edge.dataset.e.split(" ");
    if (!ends.includes(node.dataset.n)) continue;
    edge.classList.add("near");
    ends.forEach((end) => near.add(end));
    if (labels++ < MAX_EDGE_LABELS) notes.append(edgeLabel(edge, ends[0] === node.dataset.n));
  }
  for (const number of near) {
    const neighbour = svg.querySelector(`.dots a[data-n="${number}"]`);
    neighbour.classList.add("near");
    if (near.size <= 2 * MAX_EDGE_LABELS && !neighbour.querySelector("text")) addName(neighbour);
  }
  svg.classList.add("focused");
}

function clearHighlight(svg) {
  svg.classList.remove("focused");
  svg.querySelectorAll(".near").forEach((element) => element.classList.remove("near"));
  svg.querySelectorAll(".for-now").forEach((element) => element.remove());
}

function svgElement(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children);
  return element;
}

// Closer to the other end: around a node with many edges there is no room.
function edgeLabel(edge, outgoing) {
  const { x, y } = edge.getPointAtLength(edge.getTotalLength() * (outgoing ? 0.68 : 0.32));
  const predicate = edge.parentNode.querySelector("title").textContent;
  const label = svgElement("text", { class: "edge-name", x: 0, y: 4, "text-anchor": "middle" }, predicate);
  return svgElement("g", { class: "fixed for-now", transform: `translate(${x} ${y})` }, label);
}

function addName(node) {
  const [name] = node.querySelector("title").textContent.split("\n");
  node.firstChild.append(svgElement("text", { class: "for-now", x: 9, y: 4 }, name));
}

function onKeydown(svg, event) {
  if (event.target !== svg || event.ctrlKey || event.metaKey) return;
  const step = viewOf(svg).width / 8;
  const wholeShown = svg.dataset.near === "1" && viewOf(svg).width === svg.whole.width;
  if (wholeShown && event.key.startsWith("Arrow")) return;
  runAction(event, {
    "+": () => zoom(svg, 1.5),
    "=": () => zoom(svg, 1.5),
    "-": () => zoom(svg, 1 / 1.5),
    "0": () => setView(svg, svg.whole),
    ArrowLeft: () => pan(svg, -step, 0),
    ArrowRight: () => pan(svg, step, 0),
    ArrowUp: () => pan(svg, 0, -step),
    ArrowDown: () => pan(svg, 0, step),
  });
}

function onZoom(button) {
  const svg = button.closest(".canvas").querySelector(".graph");
  const factor = Number(button.dataset.zoom);
  if (factor) zoom(svg, factor);
  else setView(svg, svg.whole);
}

// Paths from an entity are drawn in place.
function followNode(node, event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  const walking = document.querySelector(".graph .root");
  if (drag?.moved || walking) event.preventDefault();
  if (!drag?.moved && walking) {
    htmx.ajax("GET", node.getAttribute("href"), { target: "#shown", swap: "outerHTML" });
  }
}

function initialise() {
  for (const svg of document.querySelectorAll(".graph")) {
    if (svg.whole) continue;
    svg.whole = viewOf(svg);
    const canvas = svg.closest(".canvas");
    canvas.querySelector(".zoom").hidden = false;
    svg.parentNode.scrollLeft = (svg.clientWidth - svg.parentNode.clientWidth) / 2;
    if (views.has(canvas.dataset.key)) setView(svg, views.get(canvas.dataset.key));
  }
}

delegate("wheel", ".graph", onWheel, { passive: false });
delegate("pointerdown", ".graph", startDrag);
delegate("pointerover", ".graph", highlight);
delegate("focusin", ".graph", highlight);
delegate("keydown", ".graph", onKeydown);
delegate("dragstart", ".graph", (svg, event) => event.preventDefault());
delegate("click", "[data-zoom]", onZoom);
delegate("click", ".dots a, [data-to]", followNode);
listen({ pointermove: onPointerMove, pointerup: endDrag, "htmx:afterSettle": initialise });
initialise();
