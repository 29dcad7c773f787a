// Keeps a slider, its number input (which is what is sent), its fill and its "changed" mark in sync.
"use strict";

// Slider position to value and back; log sliders work in log10 units.
const valueAt = (range) => ("log" in range.dataset ? Number((10 ** range.value).toPrecision(3)) : Number(range.value));
const positionOf = (range, value) => ("log" in range.dataset ? Math.log10(value) : value);

function show(param, value, from) {
  const range = param.querySelector("[type=range]");
  const number = param.querySelector("[type=number]");
  if (from !== range) range.value = positionOf(range, value);
  if (from !== number) number.value = value;
  param.querySelector(".fill").setAttribute("width", `${(100 * (range.value - range.min)) / (range.max - range.min)}%`);
  const changed = Number(value) !== Number(range.dataset.default);
  param.classList.toggle("changed", changed);
  param.querySelector(".reset").hidden = !changed;
}

function follow(event) {
  const param = event.target.closest(".param");
  if (!param || event.target.value === "") return;
  if (event.target.type === "range") show(param, valueAt(event.target), event.target);
  else if (event.target.type === "number") show(param, event.target.value, event.target);
}

// Reset to the default, with the same events as a user's change.
function reset(event) {
  const button = event.target.closest(".param .reset");
  const all = event.target.closest("[data-reset-all]");
  const params = button ? [button.closest(".param")] : all ? [...all.form.querySelectorAll(".param")] : [];
  for (const param of params) {
    const range = param.querySelector("[type=range]");
    if (range) show(param, range.dataset.default);
    for (const choice of param.querySelectorAll("select, [type=checkbox]")) {
      if (choice.type === "checkbox") choice.checked = choice.dataset.default === "true";
      else choice.value = choice.dataset.default;
    }
  }
  params[0]?.querySelector("input, select").dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("input", follow);
document.addEventListener("click", reset);
