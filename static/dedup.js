// Thresholds are dragged on the histogram: a line moves its slider, the slider requests a new chart.
import { listen } from "./events.js";

const GRAB_DISTANCE = 14; // pixels

let dragged = null; // name of the threshold being dragged

const sliderOf = (name) => document.getElementById(`p-${name}`);
const histogram = () => document.getElementById("histogram");

// The threshold line nearest to the pointer, if one is within reach.
function lineAt(event) {
  const layout = histogram()?._fullLayout;
  if (!layout || !histogram().contains(event.target)) return null;
  const x = event.clientX - histogram().getBoundingClientRect().left - layout.xaxis._offset;
  const near = layout.shapes
    .filter((shape) => shape.name)
    .map((shape) => ({ name: shape.name, offset: x - layout.xaxis.l2p(shape.x0) }))
    .filter((line) => Math.abs(line.offset) <= GRAB_DISTANCE)
    .sort((a, b) => Math.abs(a.offset) - Math.abs(b.offset));
  // Lines on top of each other: the one that can move towards the pointer's side.
  if (near.length === 2 && near[0].offset === near[1].offset) {
    const suffix = near[0].offset < 0 ? "escalate" : "duplicate";
    return near.find((line) => line.name.endsWith(suffix)).name;
  }
  return near[0]?.name ?? null;
}

// Set through the slider, which applies its steps and bounds.
function dragTo(event) {
  const { xaxis } = histogram()._fullLayout;
  const slider = sliderOf(dragged);
  const before = slider.value;
  slider.value = xaxis.p2l(event.clientX - histogram().getBoundingClientRect().left - xaxis._offset);
  if (slider.value !== before) slider.dispatchEvent(new Event("input", { bubbles: true }));
}

function startDrag(event) {
  if (event.button !== 0) return;
  dragged = lineAt(event);
  if (!dragged) return;
  event.preventDefault();
  document.body.classList.add("dragging");
}

function onPointerMove(event) {
  if (dragged) dragTo(event);
  else if (event.pointerType === "mouse") histogram()?.classList.toggle("near-line", lineAt(event) !== null);
}

function endDrag() {
  dragged = null;
  document.body.classList.remove("dragging");
}

// escalate ≤ duplicate: moving one threshold past the other moves both.
function keepOrder(event) {
  const [escalate, duplicate] = [sliderOf("dedup_escalate"), sliderOf("dedup_duplicate")];
  if (event.target !== escalate && event.target !== duplicate) return;
  if (Number(escalate.value) <= Number(duplicate.value)) return;
  const other = event.target === escalate ? duplicate : escalate;
  other.value = event.target.value;
  other.dispatchEvent(new Event("input", { bubbles: true }));
}

listen({
  input: keepOrder,
  pointerdown: startDrag,
  pointermove: onPointerMove,
  pointerup: endDrag,
  pointercancel: endDrag,
});
