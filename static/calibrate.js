// Annotation by keyboard: 1 to 5 choose the type, y and n right or wrong, + and − the confidence,
// Enter saves, s skips.
import { listen } from "./events.js";
import { isShortcut, runAction } from "./keyboard.js";

// These have keys of their own.
const CONTROLS = "a, button, summary, select, textarea, input:not([type=range]):not([type=radio])";

const annotationForm = () => document.getElementById("word");
const confidenceSlider = () => document.getElementById("confidence");

function showConfidence() {
  const slider = confidenceSlider();
  if (slider) slider.nextElementSibling.value = slider.value;
}

function stepConfidence(direction) {
  if (direction > 0) confidenceSlider().stepUp();
  else confidenceSlider().stepDown();
  showConfidence();
}

const ACTIONS = {
  "+": () => stepConfidence(1),
  "-": () => stepConfidence(-1),
  "−": () => stepConfidence(-1),
  Enter: () => annotationForm().requestSubmit(),
  s: () => annotationForm().querySelector("[data-skip]").click(),
};

function onKeydown(event) {
  if (!annotationForm() || !isShortcut(event, CONTROLS)) return;
  const choice = annotationForm().querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  runAction(event, choice ? { [event.key]: () => { choice.checked = true; } } : ACTIONS);
}

listen({ keydown: onKeydown, input: showConfidence });
