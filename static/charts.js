// Draws every <figure data-figure="id"> with Plotly from the JSON block with that id, in the current theme.
// A chart is {data, layout, narrow}; a string such as "$ink" or "$semantic" is a colour token of recall.css.
import { listen } from "./events.js";

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);

function tokenColour(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

function resolveTokens(value) {
  if (typeof value === "string") return value.startsWith("$") ? tokenColour(value.slice(1)) : value;
  if (Array.isArray(value)) return value.map(resolveTokens);
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, resolveTokens(part)]));
  }
  return value;
}

function deepMerge(base, overrides) {
  const merged = { ...base };
  for (const [key, value] of Object.entries(overrides ?? {})) {
    const nested = value && base?.[key] && typeof value === "object" && !Array.isArray(value);
    merged[key] = nested ? deepMerge(base[key], value) : value;
  }
  return merged;
}

function baseLayout() {
  const axis = {
    gridcolor: "$line", showline: false, zeroline: false,
    tickangle: 0, ticks: "", tickfont: { size: 11, color: "$ink-3" },
    title: { font: { size: 11, color: "$ink-3" }, standoff: 6 },
    fixedrange: true, automargin: false,
  };
  return {
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: "$ink-2" },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 40, r: 12, t: 8, b: 32 }, showlegend: false, bargap: 0.25, dragmode: false,
    hoverlabel: { bgcolor: "$surface", bordercolor: "$line-2", font: { size: 12, color: "$ink" } },
    xaxis: axis, yaxis: axis,
  };
}

// {"narrow": {...}} overrides the layout of charts below 480 px.
function draw(figure) {
  const { data, layout, narrow } = JSON.parse(document.getElementById(figure.dataset.figure).textContent);
  const chosen = narrow && figure.clientWidth < 480 ? deepMerge(layout, narrow) : layout;
  const full = deepMerge(baseLayout(), { ...chosen, height: figure.clientHeight, width: figure.clientWidth });
  Plotly.react(figure, resolveTokens(data), resolveTokens(full), { displayModeBar: false });
}

function drawAll() {
  document.querySelectorAll("[data-figure]").forEach(draw);
}

listen({ "htmx:afterSettle": drawAll, "recall:theme": drawAll });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);

let resizeTimer;
addEventListener("resize", () => {
  clearTimeout(resizeTimer);
  resizeTimer = setTimeout(drawAll, 120);
});
drawAll();
