"use strict";
// The page is complete without this. It hides, sorts, copies, and draws the curves so that they can be asked.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;
const form = document.querySelector(".choices");
const dimensions = all("[data-dimension]", form);
const boxes = (dimension) => all("input", dimension);
const byDefault = new Map(dimensions.flatMap(boxes).map((box) => [box, box.checked]));

// The state, in the address: what differs from the default. An address without = is a place on the page.

function readAddress() {
  const hash = location.hash.slice(1);
  if (hash && !hash.includes("=")) return;
  const state = new URLSearchParams(hash);
  for (const dimension of dimensions) {
    const chosen = state.getAll(dimension.dataset.dimension);
    for (const box of boxes(dimension)) {
      box.checked = chosen.length ? chosen.includes(box.value) : byDefault.get(box);
    }
  }
  form.querySelector("#linear").checked = state.get("bars") === "linear";
  root.style.colorScheme = ["light", "dark"].includes(state.get("theme")) ? state.get("theme") : "";
  show();
}

function writeAddress() {
  const state = new URLSearchParams();
  for (const dimension of dimensions) {
    if (boxes(dimension).every((box) => box.checked === byDefault.get(box))) continue;
    const chosen = boxes(dimension).filter((box) => box.checked).map((box) => box.value);
    for (const value of chosen.length ? chosen : [""]) state.append(dimension.dataset.dimension, value);
  }
  if (form.querySelector("#linear").checked) state.set("bars", "linear");
  if (root.style.colorScheme) state.set("theme", root.style.colorScheme);
  history.replaceState(null, "", `#${state}`);
}

// What is shown, and the ratios among it.

function show() {
  const chosen = {};
  for (const dimension of dimensions) {
    chosen[dimension.dataset.dimension] = new Set(boxes(dimension).filter((box) => box.checked).map((box) => box.value));
  }
  const panels = all("[data-panel]");
  for (const panel of panels) {
    panel.hidden = Object.keys(panel.dataset).some((name) => name in chosen && !chosen[name].has(panel.dataset[name]));
  }
  for (const row of all("tr[data-schema]")) row.hidden = !chosen.schema.has(row.dataset.schema);
  root.classList.toggle("linear", form.querySelector("#linear").checked);
  all("table.bars").forEach(rescale);
  all("table.figures").forEach(compare);
  all("figure.chart").forEach((figure) => drawSoon(figure, chosen.schema));
  document.querySelector("#nothing").hidden = panels.some((panel) => "profile" in panel.dataset && !panel.hidden);
  document.querySelector("#shown").textContent = `Showing ${dimensions.map(summary).filter(Boolean).join(" · ")}`;
  document.querySelector("#theme").textContent = isDark() ? "Light" : "Dark";
}

function summary(dimension) {
  const names = boxes(dimension).filter((box) => box.checked).map((box) => box.value);
  const name = dimension.dataset.dimension;
  if (name === "schema") return `${names.length} of ${boxes(dimension).length} schemas`;
  const text = names.join(", ") || `no ${name}`;
  return { coins: `${text} coins`, flush: dimension.hidden ? "" : `a flush each ${text}` }[name] ?? text;
}

const times = (ratio) => `×${ratio < 9.95 ? ratio.toFixed(1) : Math.round(ratio).toLocaleString("en-US")}`;

function setRatio(mark, value, best) {
  const ratio = Math.max(value, best) / Math.min(value, best);
  mark.style.setProperty("--r", ratio);
  mark.textContent = times(ratio);
  return ratio;
}

function rescale(table) {
  const rows = all("tbody tr[style]", table).filter((row) => !row.hidden);
  const value = (row, name) => Number(row.style.getPropertyValue(name));
  const contestants = rows.filter((row) => "competes" in row.dataset);
  const best = Math.min(...contestants.map((row) => value(row, "--v")));
  for (const row of contestants) {
    row.style.setProperty("--r", setRatio(row.querySelector(".x"), value(row, "--v"), best));
  }
  const floor = Number(table.style.getPropertyValue("--floor"));
  const high = Math.max(floor, ...rows.map((row) => value(row, "--b")));
  if (high > 0) table.style.setProperty("--high", high);
  for (const tick of all(".axis i", table)) tick.hidden = Number(tick.style.getPropertyValue("--v")) > high;
}

function compare(table) {
  const rows = all("tbody tr[data-competes]", table).filter((row) => !row.hidden);
  all("thead th", table).forEach((head, place) => {
    if (!head.dataset.best) return;
    const cells = rows.map((row) => row.cells[place]).filter((cell) => cell.querySelector(".x"));
    const best = Math[head.dataset.best](...cells.map((cell) => Number(cell.dataset.v)));
    for (const cell of cells) setRatio(cell.querySelector(".x"), Number(cell.dataset.v), best);
  });
}

// Sorting: what has no figure stays at the end.

for (const head of all("th[data-sort]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  button.addEventListener("click", () => sort(head));
  head.append(button);
}

function sort(head) {
  const table = head.closest("table");
  const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const key = (row) => (head.dataset.sort === "text" ? row.dataset.schema : row.cells[head.cellIndex].dataset.v);
  const order = (one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return sign * (head.dataset.sort === "text" ? a.localeCompare(b) : a - b);
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
}

// Curves: drawn when they come into sight, of the schemas that are shown.

const wanted = new WeakMap();
const sight = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) if (isIntersecting) draw(target);
}, { rootMargin: "200px" });

function drawSoon(figure, schemas) {
  wanted.set(figure, schemas);
  sight.unobserve(figure);
  sight.observe(figure);
}

function draw(figure) {
  sight.unobserve(figure);
  const specification = JSON.parse(figure.querySelector("script").textContent);
  const { data } = specification;
  data.values = data.values.filter((point) => wanted.get(figure).has(point.s));
  specification.width = Math.max(280, figure.clientWidth);
  vegaEmbed(figure.querySelector(".picture"), specification, {
    actions: false,
    renderer: "svg",
    tooltip: (_, event, item, value) => tell(event, value),
  });
}

function tell(event, value) {
  const hint = document.querySelector("#hint");
  hint.hidden = !value;
  if (!value) return;
  hint.textContent = Object.entries(value).map(([label, text]) => `${label}: ${text}`).join("\n");
  hint.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8))}px`;
  hint.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - hint.offsetHeight - 8))}px`;
}

// Buttons.

const isDark = () =>
  root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

function change() {
  writeAddress();
  show();
}

document.querySelector("#theme").addEventListener("click", () => {
  root.style.colorScheme = isDark() ? "light" : "dark";
  change();
});

document.querySelector("#reset").addEventListener("click", () => {
  for (const [box, checked] of byDefault) box.checked = checked;
  form.querySelector("#linear").checked = false;
  change();
});

for (const button of all("[data-copy]")) {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = "Press Ctrl+C";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}

form.addEventListener("change", change);
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", readAddress);
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth !== width) show();
  width = innerWidth;
});
addEventListener("beforeprint", () => all("details").forEach((each) => (each.open = true)));

for (const each of all("[data-script]")) each.hidden = false;
form.querySelector("details").open = innerWidth > 900;
show();
readAddress();
