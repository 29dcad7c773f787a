// Keeps a slider, its number input (which is what is sent), its fill and its "changed" mark in sync.
import { delegate, listen } from "./events.js";

// Slider position to value and back; log sliders work in log10 units.
const valueAt = (range) => ("log" in range.dataset ? Number((10 ** range.value).toPrecision(3)) : Number(range.value));
const positionOf = (range, value) => ("log" in range.dataset ? Math.log10(value) : value);

function setValue(param, value, source) {
  const range = param.querySelector("[type=range]");
  const number = param.querySelector("[type=number]");
  if (source !== range) range.value = positionOf(range, value);
  if (source !== number) number.value = value;
  const percent = (100 * (range.value - range.min)) / (range.max - range.min);
  param.querySelector(".fill").setAttribute("width", `${percent}%`);
  const changed = Number(value) !== Number(range.dataset.default);
  param.classList.toggle("changed", changed);
  param.querySelector(".reset").hidden = !changed;
}

function onInput(param, { target }) {
  if (target.value === "") return;
  if (target.type === "range") setValue(param, valueAt(target), target);
  else if (target.type === "number") setValue(param, target.value, target);
}

// Value of a select or checkbox, as it is sent.
const choiceValue = (choice) => (choice.type === "checkbox" ? String(choice.checked) : choice.value);

export const isChanged = (choice) => choiceValue(choice) !== choice.dataset.default;

// Changed parameters of a form as [name, value] pairs, exactly as typed.
export function changedParams(form) {
  const pairs = [];
  for (const param of form?.querySelectorAll(".param") ?? []) {
    const input = param.querySelector("[type=number], select, [type=checkbox]");
    if (input.disabled || input.value === "") continue;
    const range = param.querySelector("[type=range]");
    const changed = range ? Number(input.value) !== Number(range.dataset.default) : isChanged(input);
    if (changed) pairs.push([input.name, choiceValue(input)]);
  }
  return pairs;
}

function resetTargets({ target }) {
  const button = target.closest(".param .reset");
  if (button) return [button.closest(".param")];
  return [...(target.closest("[data-reset-all]")?.form.querySelectorAll(".param") ?? [])];
}

// Reset to the default, with the same event as a user's change.
function reset(event) {
  const params = resetTargets(event);
  for (const param of params) {
    const range = param.querySelector("[type=range]");
    if (range) setValue(param, range.dataset.default);
    for (const choice of param.querySelectorAll("select, [type=checkbox]")) {
      if (choice.type === "checkbox") choice.checked = choice.dataset.default === "true";
      else choice.value = choice.dataset.default;
    }
  }
  params[0]?.querySelector("input, select").dispatchEvent(new Event("change", { bubbles: true }));
}

// Parameters that cannot move anything are dimmed, with the reason; a swap brings the reasons that hold now.
function markInert() {
  const data = document.getElementById("inert");
  if (!data) return;
  const reasons = JSON.parse(data.textContent);
  for (const param of document.querySelectorAll(".param[data-param]")) {
    const reason = reasons[param.dataset.param] ?? "";
    const note = param.querySelector(".no-effect");
    param.classList.toggle("inert", reason !== "");
    note.hidden = reason === "";
    note.querySelector("span").textContent = reason;
  }
}

delegate("input", ".param", onInput);
listen({ click: reset, "htmx:afterSwap": markInert });
