// A slider keeps its typed number, which is what is sent, its fill and its "changed" mark in step.
"use strict";

// The value that a slider stands for, and the place of a value on it: a wide range is moved by powers of ten.
const valueAt = (range) => ("log" in range.dataset ? Number((10 ** range.value).toPrecision(3)) : Number(range.value));
const placeOf = (range, value) => ("log" in range.dataset ? Math.log10(value) : value);

function show(param, value, from) {
  const range = param.querySelector("[type=range]");
  const number = param.querySelector("[type=number]");
  if (from !== range) range.value = placeOf(range, value);
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

// Back to the default: as if the person had moved it there.
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
