// The Lab's keyboard shortcuts, and the state that survives an htmx swap: current hit, open explanations.
"use strict";

let current = null; // the id of the current hit
let open = new Set(); // the ids of hits whose explanation is open
let listsOpen = true;
let rankings = 0; // ranking requests so far
const requestedAt = new WeakMap(); // xhr of a panel → value of `rankings` when it was sent

const hits = () => [...document.querySelectorAll(".hits > li")];
const hit = () => document.getElementById(current);

function choose(one) {
  hit()?.classList.remove("now");
  current = one.id;
  one.classList.add("now");
  one.focus({ preventScroll: true });
  one.scrollIntoView({ block: "nearest" });
}

function step(by) {
  const all = hits();
  const index = all.findIndex((one) => one.id === current);
  const next = all[Math.min(Math.max(index + by, 0), all.length - 1)];
  if (next) choose(next);
}

function explain() {
  const why = (hit() ?? hits()[0])?.querySelector(".why");
  if (why) why.open = !why.open;
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea")) return;
  const keys = { "/": () => document.getElementById("q").focus(), j: () => step(1), k: () => step(-1), e: explain };
  const judge = hit()?.querySelector(`.judge button[value$=" ${event.key}"]`);
  if ("0123".includes(event.key) && judge) judge.click();
  else if (keys[event.key]) keys[event.key]();
  else return;
  event.preventDefault();
}

// Changed parameters as [name, value] pairs, exactly as typed.
function changedParams() {
  const pairs = [];
  for (const param of document.querySelectorAll("#params .param")) {
    const input = param.querySelector("[type=number], select, [type=checkbox]");
    const initial = (param.querySelector("[type=range]") ?? input).dataset.default;
    if (input.disabled || input.value === "") continue;
    const value = input.type === "checkbox" ? String(input.checked) : input.value;
    if (input.type === "number" ? Number(value) !== Number(initial) : value !== initial) pairs.push([input.name, value]);
  }
  return pairs;
}

// Only changed parameters go into the URL.
function send(event) {
  const form = document.getElementById("params");
  // htmx ignores a submit button outside its form.
  if (event.detail.elt.id === "judge") event.detail.parameters.grade = event.detail.triggeringEvent.submitter.value;
  if (event.detail.elt.closest("#beside, #why-not")) return sendState(event.detail);
  if (event.detail.elt !== form) return;
  rankings += 1;
  for (const name of new Set(new FormData(form).keys())) if (name.startsWith("p.")) delete event.detail.parameters[name];
  for (const [name, value] of changedParams()) event.detail.parameters[name] = value;
  event.detail.parameters.explain = hits().filter((one) => one.querySelector(".why").open).map((one) => one.id.slice(4));
  for (const name of ["beside", "missing"]) {
    const value = new URLSearchParams(location.search).get(name);
    if (value) event.detail.parameters[name] = value;
  }
}

// A panel is requested with the current page state, not the state it was rendered with.
function sendState(detail) {
  const { elt, parameters } = detail;
  if (elt.matches("a")) {
    const [path, query] = detail.path.split("?");
    const kept = [...new URLSearchParams(query)].filter(([name]) => !name.startsWith("p."));
    detail.path = `${path}?${new URLSearchParams([...kept, ...changedParams()])}`;
    return;
  }
  const own = elt.matches("form") ? [...elt.elements].map((one) => one.name) : [];
  for (const name of own) if (name.startsWith("p.")) delete parameters[name];
  for (const [name, value] of new URLSearchParams(location.search)) {
    const replaced = name === "missing" && own.includes("find");
    if (!(name.startsWith("p.") || own.includes(name) || replaced)) parameters[name] = value;
  }
  for (const [name, value] of changedParams()) parameters[name] = value;
}

// A panel response from before the last ranking is stale: keep its selection and request the panel again.
function stampRequest({ detail }) {
  if (detail.elt.closest("#beside, #why-not")) requestedAt.set(detail.xhr, rankings);
}

function dropStale(event) {
  const { xhr, pathInfo } = event.detail;
  if (!requestedAt.has(xhr) || requestedAt.get(xhr) === rankings) return;
  event.preventDefault();
  const requested = new URL(pathInfo.finalRequestPath, location).searchParams;
  const here = new URL(location);
  for (const name of ["beside", "missing", "find"]) requested.get(name) ? here.searchParams.set(name, requested.get(name)) : here.searchParams.delete(name);
  history.replaceState(history.state, "", here);
  document.body.dispatchEvent(new CustomEvent("lab:moved"));
}

function updateCounts() {
  const form = document.getElementById("params");
  if (!form) return;
  for (const group of form.querySelectorAll(".group")) {
    const changed = group.querySelectorAll(".param.changed").length;
    let chip = group.querySelector("summary .chip.mark");
    if (changed && !chip) {
      chip = document.createElement("span");
      chip.className = "chip mark";
      group.querySelector("summary").append(chip);
    }
    if (chip) changed ? (chip.textContent = `${changed} changed`) : chip.remove();
  }
  document.getElementById("count").textContent = `${form.querySelectorAll(".param.changed").length} changed`;
}

function follow(event) {
  const param = event.target.closest("#params .param");
  if (!param) return;
  const choice = param.querySelector("select, [type=checkbox]");
  if (choice) param.classList.toggle("changed", (choice.type === "checkbox" ? String(choice.checked) : choice.value) !== choice.dataset.default);
  updateCounts();
}

function saveOpenState(event) {
  if (event.detail.target.id !== "answer") return;
  open = new Set(hits().filter((one) => one.querySelector(".why").open).map((one) => one.id));
  listsOpen = document.getElementById("lists")?.open ?? true;
}

function restoreOpenState(event) {
  if (event.detail.elt?.id !== "answer" && event.detail.target?.id !== "answer") return;
  for (const one of hits()) one.querySelector(".why").open = open.has(one.id);
  hit()?.classList.add("now");
  const lists = document.getElementById("lists");
  if (lists) lists.open = listsOpen;
  document.body.dispatchEvent(new CustomEvent("lab:moved"));
}

// A parameter in an explanation links to its slider, even in a collapsed group.
function jump(event) {
  const link = event.target.closest('a[href^="#p-"]');
  const slider = link && document.getElementById(link.hash.slice(1));
  if (!slider) return;
  slider.closest("details").open = true;
  document.querySelector(".rail > .fold").open = true;
  slider.focus();
}

async function copy(event) {
  const link = event.target.closest("[data-copy]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  await navigator.clipboard.writeText(link.href);
  link.textContent = "Copied";
  setTimeout(() => { link.textContent = "Copy link"; }, 1500);
}

// Save the current slider values.
function save(event) {
  if (event.target.id !== "save") return;
  event.target.querySelectorAll("[name^='p.']").forEach((one) => one.remove());
  for (const [name, value] of changedParams()) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    event.target.append(field);
  }
}

document.addEventListener("keydown", press);
document.addEventListener("click", jump);
document.addEventListener("click", copy);
document.addEventListener("submit", save);
document.addEventListener("input", follow);
document.addEventListener("change", follow);
document.addEventListener("click", (event) => { const one = event.target.closest(".hits > li"); if (one && !event.target.closest("a, button, input")) { hit()?.classList.remove("now"); current = one.id; one.classList.add("now"); } });
document.addEventListener("htmx:configRequest", send);
document.addEventListener("htmx:beforeSend", stampRequest);
document.addEventListener("htmx:beforeOnLoad", dropStale);
document.addEventListener("htmx:beforeSwap", saveOpenState);
document.addEventListener("htmx:afterSwap", restoreOpenState);
