// The tables of a report, loading a page of runs in progress again, and the start of everything.

/** Sort the rows of a table by the column of a button in its heading; empty values stay last. */
const sortable = (table) => {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    if (table.tBodies[0].rows.length < 2 || !heading.textContent) return;
    const button = create("button", { type: "button", class: "sort" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const sign = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", sign === 1 ? "ascending" : "descending");
      const value = (row) => {
        const cell = row.cells[column];
        if (!("value" in cell.dataset)) return cell.textContent;
        return cell.dataset.value === "" ? null : Number(cell.dataset.value);
      };
      const compare = (one, other) => {
        const [a, b] = [value(one), value(other)];
        if (a === null || b === null) return (a === null) - (b === null);
        return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
      };
      table.tBodies[0].append(...[...table.tBodies[0].rows].sort(compare));
    });
  });
};

/** Load a page of runs in progress again and again, unless the reader switches this off. */
const watch = () => {
  const box = document.getElementById("reload");
  if (!box) return;
  box.checked = kept.reload ?? true;
  box.addEventListener("change", () => keep("reload", box.checked));
  setInterval(() => {
    if (!box.checked) return;
    keep("focus", document.activeElement?.id || null);
    location.reload();
  }, 1000 * data.watch);
  if (kept.focus) document.getElementById(kept.focus)?.focus({ preventScroll: true });
};

for (const root of document.querySelectorAll("[data-chart]"))
  new Chart(root, data.charts[Number(root.dataset.chart)], `chart-${root.dataset.chart}`);
for (const root of document.querySelectorAll("[data-scatter]"))
  new Scatter(root, data.scatters[Number(root.dataset.scatter)], `scatter-${root.dataset.scatter}`);
const searches = document.getElementById("searches");
if (searches) new Searches(searches, data.searches);
document.querySelectorAll("table.sortable").forEach(sortable);
for (const details of document.querySelectorAll("details")) {
  details.open = Boolean(kept[details.id]) || details.open;
  details.addEventListener("toggle", () => keep(details.id, details.open));
}
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
document.querySelectorAll("button, input, select, summary, .plot svg").forEach((element, number) => {
  element.id ||= `control-${number}`; // the focus is found again after a reload
});
watch();
