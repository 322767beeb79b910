"use strict";
// The only script of the page: search and filters, long lists that unfold, and the numbers of a heatmap's cells.
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  const find = document.querySelector("#find"), kind = document.querySelector("#kind"), look = document.querySelector("#look");
  const open = new Set();

  function refresh() {
    const words = find ? find.value.trim().toLowerCase() : "";
    const filtered = Boolean(words || (kind && kind.value) || (look && look.checked));
    for (const list of all("[data-list]")) {
      const limit = open.has(list) || filtered ? Infinity : Number(list.dataset.list) || Infinity;
      let matching = 0, hidden = 0;
      for (const entry of all("[data-column]", list)) {
        const named = entry.dataset.column.toLowerCase().includes(words);
        const fits = named && (!kind || !kind.value || !entry.dataset.kind || entry.dataset.kind === kind.value)
          && (!look || !look.checked || entry.dataset.look !== "");
        matching += fits;
        const shown = fits && matching <= limit;
        hidden += fits && !shown;
        entry.hidden = !shown;
      }
      const more = list.parentNode.querySelector(":scope > .more") || list.closest(".wide")?.parentNode.querySelector(":scope > .more");
      if (more) { more.hidden = !hidden; more.firstElementChild.textContent = `show all ${matching}`; }
      if (list.id === "glance") document.querySelector("#found").textContent = `${matching} of ${all("[data-column]", list).length} columns`;
    }
  }

  for (const more of all(".more")) {
    more.firstElementChild.addEventListener("click", () => {
      for (const list of all("[data-list]", more.parentNode)) open.add(list);
      refresh();
    });
  }
  for (const control of [find, kind, look]) if (control) control.addEventListener("input", refresh);
  document.documentElement.classList.add("live");
  refresh();

  // A link to a column that is folded away or filtered out unfolds it first.
  function reach() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.hidden) return;
    if (find) find.value = "";
    if (kind) kind.value = "";
    if (look) look.checked = false;
    for (const list of all("[data-list]")) if (list.contains(target)) open.add(list);
    refresh();
    target.scrollIntoView();
  }
  addEventListener("hashchange", reach);
  reach();

  // Heatmaps: numbers of both tables are in attributes of the section, two characters per cell.
  const tip = document.querySelector("#tip"), data = document.querySelector("#pairs-data");
  if (!tip || !data) return;
  const names = JSON.parse(data.dataset.names), n = names.length;
  const value = (side, cell) => {
    const text = data.dataset[side].slice(2 * cell, 2 * cell + 2);
    return text === "A0" ? 1 : Number(text) / 100;
  };
  for (const heat of all("svg.heat[data-kind]")) {
    const back = heat.querySelector(".back");
    const say = event => {
      const box = back.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left) / box.width * n), i = Math.floor((event.clientY - box.top) / box.height * n);
      tip.hidden = i < 0 || j < 0 || i >= n || j >= n;
      if (tip.hidden) return;
      const cell = i * n + j;
      tip.textContent = `${names[i]} and ${names[j]}: real ${value("real", cell).toFixed(2)}, synthetic ${value("synthetic", cell).toFixed(2)}`;
      const wide = tip.offsetWidth;
      tip.style.left = `${Math.min(event.clientX + 12, innerWidth - wide - 8)}px`;
      tip.style.top = `${event.clientY + 16}px`;
    };
    heat.addEventListener("pointermove", say);
    heat.addEventListener("pointerdown", say);
    heat.addEventListener("pointerleave", () => { tip.hidden = true; });
  }
})();
