// A threshold is dragged on the histogram: the line moves its slider, the slider asks the server, whose answer redraws.
"use strict";

const REACH = 14; // pixels from a line within which it is taken

let dragged = null; // the name of the threshold in hand

const rangeOf = (name) => document.getElementById(`p-${name}`);
const histogram = () => document.getElementById("histogram");

// The line under the pointer, the nearest if there are two.
function lineAt(event) {
  const layout = histogram()?._fullLayout;
  if (!layout || !histogram().contains(event.target)) return null;
  const x = event.clientX - histogram().getBoundingClientRect().left;
  const lines = layout.shapes.filter((shape) => shape.name).map((shape) => ({ name: shape.name, away: x - layout.xaxis._offset - layout.xaxis.l2p(shape.x0) }));
  const near = lines.filter((line) => Math.abs(line.away) <= REACH).sort((a, b) => Math.abs(a.away) - Math.abs(b.away));
  // Where both lie on one another, the side on which they are taken tells which is meant.
  if (near.length === 2 && near[0].away === near[1].away) return near.find((line) => line.name.endsWith(near[0].away < 0 ? "escalate" : "duplicate")).name;
  return near[0]?.name ?? null;
}

// As if the person had moved the slider, which keeps to its own steps and bounds.
function moveTo(event) {
  const layout = histogram()._fullLayout;
  const x = event.clientX - histogram().getBoundingClientRect().left - layout.xaxis._offset;
  const range = rangeOf(dragged);
  const before = range.value;
  range.value = layout.xaxis.p2l(x);
  if (range.value !== before) range.dispatchEvent(new Event("input", { bubbles: true }));
}

function take(event) {
  if (event.button !== 0) return;
  dragged = lineAt(event);
  if (!dragged) return;
  event.preventDefault();
  document.body.classList.add("dragging");
}

function move(event) {
  if (dragged) moveTo(event);
  else if (event.pointerType === "mouse") histogram()?.classList.toggle("near-line", lineAt(event) !== null);
}

function drop() {
  dragged = null;
  document.body.classList.remove("dragging");
}

// Asking begins at or below where merging begins: one threshold takes the other along.
function takeAlong(event) {
  const [escalate, duplicate] = [rangeOf("dedup_escalate"), rangeOf("dedup_duplicate")];
  if (event.target !== escalate && event.target !== duplicate) return;
  if (Number(escalate.value) <= Number(duplicate.value)) return;
  const other = event.target === escalate ? duplicate : escalate;
  other.value = event.target.value;
  other.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("input", takeAlong);
document.addEventListener("pointerdown", take);
document.addEventListener("pointermove", move);
document.addEventListener("pointerup", drop);
document.addEventListener("pointercancel", drop);
