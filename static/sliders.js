// A slider keeps its typed number, its fill and its "changed" mark in step; htmx asks the server for the rest.
"use strict";

function show(param, value) {
  const range = param.querySelector("[type=range]");
  const number = param.querySelector("[type=number]");
  if (!range) return;
  range.value = value;
  if (document.activeElement !== number) number.value = value;
  param.querySelector(".fill").setAttribute("width", `${(100 * (range.value - range.min)) / (range.max - range.min)}%`);
  const changed = Number(range.value) !== Number(range.dataset.default);
  param.classList.toggle("changed", changed);
  const back = param.querySelector(".reset");
  if (back) back.hidden = !changed;
}

function follow(event) {
  const param = event.target.closest(".param");
  if (param && event.target.matches("[type=range], [type=number]") && event.target.value !== "") show(param, event.target.value);
}

// Back to the default: as if the person had moved it there.
function reset(event) {
  const button = event.target.closest(".param .reset");
  const all = event.target.closest("[data-reset-all]");
  const params = button ? [button.closest(".param")] : all ? all.form.querySelectorAll(".param") : [];
  for (const param of params) {
    const range = param.querySelector("[type=range]");
    if (range) show(param, range.dataset.default);
    for (const choice of param.querySelectorAll("select, [type=checkbox]")) {
      if (choice.type === "checkbox") choice.checked = choice.dataset.default === "true";
      else choice.value = choice.dataset.default;
    }
  }
  if (params.length) params[0].querySelector("input, select").dispatchEvent(new Event("change", { bubbles: true }));
}

document.addEventListener("input", follow);
document.addEventListener("click", reset);
