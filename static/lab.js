// The Lab's keys, and what must outlive a swap: which hit is current, and which explanations are open.
"use strict";

let current = null; // the id of the current hit
let open = new Set(); // the ids of hits whose explanation is open
let listsOpen = true;
let moves = 0; // rankings asked for
const asked = new WeakMap(); // how many when a part of the page was asked for, by its request

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
  const place = all.findIndex((one) => one.id === current);
  const next = all[Math.min(Math.max(place + by, 0), all.length - 1)];
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

// What was moved, as exactly as it was typed: pairs of a name and a value.
function moved() {
  const pairs = [];
  for (const param of document.querySelectorAll("#params .param")) {
    const said = param.querySelector("[type=number], select, [type=checkbox]");
    const usual = (param.querySelector("[type=range]") ?? said).dataset.default;
    if (said.disabled || said.value === "") continue;
    const value = said.type === "checkbox" ? String(said.checked) : said.value;
    if (said.type === "number" ? Number(value) !== Number(usual) : value !== usual) pairs.push([said.name, value]);
  }
  return pairs;
}

// Only what was moved goes into the address.
function send(event) {
  const form = document.getElementById("params");
  // htmx takes no notice of a button that stands outside its form.
  if (event.detail.elt.id === "judge") event.detail.parameters.grade = event.detail.triggeringEvent.submitter.value;
  if (event.detail.elt.closest("#beside, #why-not")) return sendState(event.detail);
  if (event.detail.elt !== form) return;
  moves += 1;
  for (const name of new Set(new FormData(form).keys())) if (name.startsWith("p.")) delete event.detail.parameters[name];
  for (const [name, value] of moved()) event.detail.parameters[name] = value;
  event.detail.parameters.explain = hits().filter((one) => one.querySelector(".why").open).map((one) => one.id.slice(4));
  for (const name of ["beside", "missing"]) {
    const said = new URLSearchParams(location.search).get(name);
    if (said) event.detail.parameters[name] = said;
  }
}

// A part of the page is asked for as the page stands now, not as it stood when the part was drawn.
function sendState(detail) {
  const { elt, parameters } = detail;
  if (elt.matches("a")) {
    const [path, query] = detail.path.split("?");
    const said = [...new URLSearchParams(query)].filter(([name]) => !name.startsWith("p."));
    detail.path = `${path}?${new URLSearchParams([...said, ...moved()])}`;
    return;
  }
  const own = elt.matches("form") ? [...elt.elements].map((one) => one.name) : [];
  for (const name of own) if (name.startsWith("p.")) delete parameters[name];
  for (const [name, value] of new URLSearchParams(location.search)) {
    const replaced = name === "missing" && own.includes("find");
    if (!(name.startsWith("p.") || own.includes(name) || replaced)) parameters[name] = value;
  }
  for (const [name, value] of moved()) parameters[name] = value;
}

// A part that was asked for before the last move tells of what is past; what was chosen in it stays, and it asks again.
function date({ detail }) {
  if (detail.elt.closest("#beside, #why-not")) asked.set(detail.xhr, moves);
}

function drop(event) {
  const { xhr, pathInfo } = event.detail;
  if (!asked.has(xhr) || asked.get(xhr) === moves) return;
  event.preventDefault();
  const said = new URL(pathInfo.finalRequestPath, location).searchParams;
  const here = new URL(location);
  for (const name of ["beside", "missing", "find"]) said.get(name) ? here.searchParams.set(name, said.get(name)) : here.searchParams.delete(name);
  history.replaceState(history.state, "", here);
  document.body.dispatchEvent(new CustomEvent("lab:moved"));
}

function count() {
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
  count();
}

function keep(event) {
  if (event.detail.target.id !== "answer") return;
  open = new Set(hits().filter((one) => one.querySelector(".why").open).map((one) => one.id));
  listsOpen = document.getElementById("lists")?.open ?? true;
}

function restore(event) {
  if (event.detail.elt?.id !== "answer" && event.detail.target?.id !== "answer") return;
  for (const one of hits()) one.querySelector(".why").open = open.has(one.id);
  hit()?.classList.add("now");
  const lists = document.getElementById("lists");
  if (lists) lists.open = listsOpen;
  document.body.dispatchEvent(new CustomEvent("lab:moved"));
}

// A constant of an explanation leads to its slider, also where its group is closed.
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

// What is saved is what the sliders say now.
function save(event) {
  if (event.target.id !== "save") return;
  event.target.querySelectorAll("[name^='p.']").forEach((one) => one.remove());
  for (const [name, value] of moved()) {
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
document.addEventListener("htmx:beforeSend", date);
document.addEventListener("htmx:beforeOnLoad", drop);
document.addEventListener("htmx:beforeSwap", keep);
document.addEventListener("htmx:afterSwap", restore);
