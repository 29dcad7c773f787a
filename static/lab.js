// The Lab's keyboard shortcuts, and the state that survives an htmx swap: current hit, open explanations.
import { delegate, listen } from "./events.js";
import { isShortcut, runAction, stepFrom } from "./keyboard.js";
import { changedParams, isChanged } from "./sliders.js";

let currentId = null; // element id of the current hit
let openIds = new Set(); // element ids of the hits whose explanation is open
let listsOpen = true;
let rankings = 0; // ranking requests so far
const requestedAt = new WeakMap(); // xhr of a panel → value of `rankings` when it was sent

const hits = () => [...document.querySelectorAll(".hits > li")];
const openHits = () => hits().filter((hit) => hit.querySelector(".why").open);
const currentHit = () => document.getElementById(currentId);
const paramsForm = () => document.getElementById("params");

function markCurrent(hit) {
  currentHit()?.classList.remove("now");
  currentId = hit.id;
  hit.classList.add("now");
}

function step(offset) {
  const all = hits();
  const next = stepFrom(all, all.findIndex((hit) => hit.id === currentId), offset);
  if (!next) return;
  markCurrent(next);
  next.focus({ preventScroll: true });
  next.scrollIntoView({ block: "nearest" });
}

function toggleExplanation() {
  const why = (currentHit() ?? hits()[0])?.querySelector(".why");
  if (why) why.open = !why.open;
}

const ACTIONS = { j: () => step(1), k: () => step(-1), e: toggleExplanation };

function onKeydown(event) {
  if (!isShortcut(event)) return;
  const grade = "0123".includes(event.key) && currentHit()?.querySelector(`.judge button[value$=" ${event.key}"]`);
  runAction(event, grade ? { [event.key]: () => grade.click() } : ACTIONS);
}

// Only changed parameters go into the URL.
function configureRequest({ detail }) {
  const { elt, parameters } = detail;
  // htmx ignores a submit button outside its form.
  if (elt.id === "judge") parameters.grade = detail.triggeringEvent.submitter.value;
  if (elt.closest("#beside, #why-not")) configurePanel(detail);
  else if (elt === paramsForm()) configureRanking(parameters);
}

function configureRanking(parameters) {
  rankings += 1;
  dropParams(parameters, new FormData(paramsForm()).keys());
  for (const [name, value] of changedParams(paramsForm())) parameters[name] = value;
  parameters.explain = openHits().map((hit) => hit.id.slice("hit-".length));
  for (const name of ["beside", "missing"]) {
    const value = new URLSearchParams(location.search).get(name);
    if (value) parameters[name] = value;
  }
}

// A panel is requested with the current page state, not the state it was rendered with.
function configurePanel(detail) {
  const { elt, parameters } = detail;
  if (elt.matches("a")) {
    const [path, query] = detail.path.split("?");
    const others = [...new URLSearchParams(query)].filter(([name]) => !name.startsWith("p."));
    detail.path = `${path}?${new URLSearchParams([...others, ...changedParams(paramsForm())])}`;
    return;
  }
  const own = elt.matches("form") ? [...elt.elements].map((field) => field.name) : [];
  dropParams(parameters, own);
  for (const [name, value] of new URLSearchParams(location.search)) {
    const replaced = name === "missing" && own.includes("find");
    if (!(name.startsWith("p.") || own.includes(name) || replaced)) parameters[name] = value;
  }
  for (const [name, value] of changedParams(paramsForm())) parameters[name] = value;
}

function dropParams(parameters, names) {
  for (const name of names) if (name.startsWith("p.")) delete parameters[name];
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
  const url = new URL(location);
  for (const name of ["beside", "missing", "find"]) {
    if (requested.get(name)) url.searchParams.set(name, requested.get(name));
    else url.searchParams.delete(name);
  }
  history.replaceState(history.state, "", url);
  document.body.dispatchEvent(new CustomEvent("lab:moved"));
}

function updateCounts() {
  const form = paramsForm();
  for (const group of form.querySelectorAll(".group")) {
    const changed = group.querySelectorAll(".param.changed").length;
    let chip = group.querySelector("summary .chip.mark");
    if (!changed) {
      chip?.remove();
      continue;
    }
    if (!chip) {
      chip = document.createElement("span");
      chip.className = "chip mark";
      group.querySelector("summary").append(chip);
    }
    chip.textContent = `${changed} changed`;
  }
  document.getElementById("count").textContent = `${form.querySelectorAll(".param.changed").length} changed`;
}

function onParamChange(param) {
  const choice = param.querySelector("select, [type=checkbox]");
  if (choice) param.classList.toggle("changed", isChanged(choice));
  updateCounts();
}

function saveOpenState(event) {
  if (event.detail.target.id !== "answer") return;
  openIds = new Set(openHits().map((hit) => hit.id));
  listsOpen = document.getElementById("lists")?.open ?? true;
}

function restoreOpenState(event) {
  if (event.detail.elt?.id !== "answer" && event.detail.target?.id !== "answer") return;
  for (const hit of hits()) hit.querySelector(".why").open = openIds.has(hit.id);
  currentHit()?.classList.add("now");
  const lists = document.getElementById("lists");
  if (lists) lists.open = listsOpen;
  document.body.dispatchEvent(new CustomEvent("lab:moved"));
}

// A parameter in an explanation links to its slider, even in a collapsed group.
function revealSlider(link) {
  const slider = document.getElementById(link.hash.slice(1));
  if (!slider) return;
  slider.closest("details").open = true;
  document.querySelector(".rail > .fold").open = true;
  slider.focus();
}

// A profile is saved with the current slider values.
function addParams(form) {
  form.querySelectorAll("[name^='p.']").forEach((field) => field.remove());
  for (const [name, value] of changedParams(paramsForm())) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
}

delegate("click", ".hits > li", (hit, event) => {
  if (!event.target.closest("a, button, input")) markCurrent(hit);
});
delegate("click", 'a[href^="#p-"]', revealSlider);
delegate("submit", "#save", addParams);
delegate("input", "#params .param", onParamChange);
delegate("change", "#params .param", onParamChange);
listen({
  keydown: onKeydown,
  "htmx:configRequest": configureRequest,
  "htmx:beforeSend": stampRequest,
  "htmx:beforeOnLoad": dropStale,
  "htmx:beforeSwap": saveOpenState,
  "htmx:afterSwap": restoreOpenState,
});
