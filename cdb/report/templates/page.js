"use strict";
// The page is complete without this. It chooses what is compared, keeps that in the address, sorts, and tells values.

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const root = document.documentElement;
const { views, decided } = JSON.parse(document.querySelector("#views").textContent);
const names = ["machine", "profile", "size", "durability"];
const selects = names.map((name) => document.querySelector(`#choose-${name}`));
const uses = all("input[name=use]");
const everything = document.querySelector("#all");
const theme = document.querySelector("#theme");
const jump = document.querySelector("#jump");
let chosen = 0;
let place = "";
let before; // The view that was left for the one that decides a use.

// The state, in the address: what differs from the default, and the place. An address without = is a place alone.

function readAddress() {
  const hash = location.hash.slice(1);
  const state = new URLSearchParams(!hash || hash.includes("=") ? hash : { at: hash });
  place = state.get("at") ?? "";
  before = undefined;
  jump.hidden = true;
  const wanted = names.map((name) => state.get(name));
  const fits = (view) => wanted.filter((value, n) => value !== null && view[n] === value).length;
  chosen = views.reduce((best, view, n) => (fits(view) > fits(views[best]) ? n : best), 0);
  const use = document.getElementById(`use-${state.get("use")}`) ?? uses[0];
  use.checked = true;
  everything.checked = state.get("schemas") === "all";
  root.style.colorScheme = ["light", "dark"].includes(state.get("theme")) ? state.get("theme") : "";
  show();
}

function state() {
  const told = new URLSearchParams();
  const use = uses.find((each) => each.checked);
  if (use && use !== uses[0]) told.set("use", use.id.slice(4));
  if (chosen) views[chosen].forEach((value, n) => value && told.set(names[n], value));
  if (everything.checked) told.set("schemas", "all");
  if (root.style.colorScheme) told.set("theme", root.style.colorScheme);
  if (!place) return told.toString();
  if (!told.size) return place;
  told.set("at", place);
  return told.toString();
}

function writeAddress() {
  if (location.hash.slice(1) !== state()) history.pushState(null, "", `#${state()}`);
}

// What is shown: of each question the block of the view that is chosen.

function show() {
  for (const each of all("[data-views]")) {
    const isShown = each.dataset.views.split(" ").includes(String(chosen));
    each.hidden = !isShown;
    if (each.matches("details")) each.open = isShown;
  }
  // A question of which nothing was measured there has no place; the opening names it.
  for (const section of all("main > section")) {
    const blocks = all("[data-views]", section);
    section.hidden = blocks.length > 0 && blocks.every((each) => each.hidden);
    const link = document.querySelector(`nav a[href="#${section.id}"]`);
    if (link) link.parentElement.hidden = section.hidden;
  }
  selects.forEach(mark);
  theme.textContent = isDark() ? "Light" : "Dark";
}

// Of the views that have a value: the one that changes least.

function nearest(n, wanted) {
  const same = (view) => (view[n] === wanted ? 10 : 0) + view.filter((value, m) => value === views[chosen][m]).length;
  return views.reduce((best, view, m) => (same(view) > same(views[best]) ? m : best), 0);
}

// The places of the other boxes that a choice changes.
const changed = (n, to, from = chosen) => names.map((_, m) => m).filter((m) => m !== n && views[to][m] !== views[from][m]);
const told = (view, places) => places.map((m) => views[view][m]).filter(Boolean).join(", ");

// A box shows what is chosen; an option, what else it would change. A box without a value is none.

for (const option of all(".choices option")) option.setAttribute("value", option.text);

function mark(select, n) {
  const value = views[chosen]?.[n] ?? "";
  for (const option of select.options) {
    const to = nearest(n, option.value);
    const others = n ? told(to, changed(n, to)) : "";
    option.textContent = others ? `${option.value} (with ${others})` : option.value;
  }
  select.value = value;
  select.parentElement.hidden = !value || select.options.length < 2;
}

selects.forEach((select, n) =>
  select.addEventListener("change", () => {
    const from = chosen;
    const value = select.value;
    chosen = nearest(n, value);
    before = undefined;
    change();
    const others = changed(n, chosen, from);
    const was = told(from, others);
    jump.hidden = !was;
    jump.textContent = `${value}: not measured on ${was}; shown: ${told(chosen, others) || "what there is"}.`;
  }),
);

// A use that one view decides shows it; the next use, the view from before.

for (const use of uses) {
  use.addEventListener("change", () => {
    const of = decided[use.id.slice(4)];
    if (of) {
      before ??= chosen;
      chosen = of[chosen];
    } else if (before !== undefined) {
      chosen = before;
      before = undefined;
    }
    change();
  });
}

function change() {
  jump.hidden = true;
  writeAddress();
  show();
}

// A link goes to its place, opens the fold around it, and leaves the state in the address.

function go() {
  const target = place && document.getElementById(place);
  if (!target) return;
  const fold = target.closest("details");
  if (fold) fold.open = true;
  target.scrollIntoView();
}

for (const link of all('a[href^="#"]')) {
  link.addEventListener("click", (event) => {
    const menu = document.querySelector("#menu");
    if (menu) menu.checked = false;
    event.preventDefault();
    place = link.getAttribute("href").slice(1);
    writeAddress();
    go();
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

const factors = {
  µs: 1e-6, ms: 1e-3, s: 1, m: 60, h: 3600, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12,
  "/s": 1, "k/s": 1e3, "M/s": 1e6, "G/s": 1e9,
};

// A figure's value, from its text: 1 m 38 s, 3.17 M/s, ×1.6.
function valueOf(cell) {
  const parts = [...(cell.firstChild?.textContent ?? "").matchAll(/([\d,.]+) ?([µa-zA-Z/]+)?/g)];
  const values = parts.map(([, number, unit]) => Number(number.replaceAll(",", "")) * (factors[unit] ?? 1));
  return values.length ? values.reduce((sum, value) => sum + value) : undefined;
}

function sort(head) {
  const table = head.closest("table");
  const direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  for (const other of all("th[aria-sort]", table)) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const key = (row) => (head.cellIndex ? valueOf(row.cells[head.cellIndex]) : row.cells[0].textContent);
  const order = (one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
    return sign * (head.cellIndex ? a - b : a.localeCompare(b));
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
}

for (const ratio of all("td > i:not([style])")) ratio.style.setProperty("--r", valueOf({ firstChild: ratio }));

for (const box of all(".scroll")) {
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", box.querySelector("caption").textContent);
}

// Values of points, where the pointer is near one.

const hint = document.querySelector("#hint");

for (const picture of all("svg")) {
  const points = all("title", picture);
  picture.addEventListener("pointermove", (event) => {
    let [nearest, least] = [null, 18];
    for (const title of points) {
      const box = title.parentElement.getBoundingClientRect();
      if (!box.width || title.parentElement.tagName === "path") continue;
      const away = Math.hypot(box.x + box.width / 2 - event.clientX, box.y + box.height / 2 - event.clientY);
      if (away < least) [nearest, least] = [title, away];
    }
    hint.hidden = !nearest;
    if (!nearest) return;
    hint.textContent = nearest.textContent;
    hint.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - hint.offsetWidth - 8))}px`;
    hint.style.top = `${Math.max(4, event.clientY - hint.offsetHeight - 10)}px`;
  });
  picture.addEventListener("pointerleave", () => (hint.hidden = true));
}

// Buttons.

const isDark = () =>
  root.style.colorScheme ? root.style.colorScheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;

theme.addEventListener("click", () => {
  root.style.colorScheme = isDark() ? "light" : "dark";
  history.replaceState(null, "", `#${state()}`);
  show();
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

everything.addEventListener("change", change);
addEventListener("popstate", readAddress);
addEventListener("beforeprint", () => all("details:not(.view)").forEach((each) => (each.open = true)));

root.classList.add("js");
for (const each of all("[data-script]")) each.hidden = false;
readAddress();
go();
