"use strict";
// Sorting and searching of tables, and the charts: plotly.js is in the page, compressed.
(function () {
  const root = document.documentElement;

  function compare(a, b) {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a < b ? -1 : a > b ? 1 : 0;
  }

  function sortable(table) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, at) => head.querySelector("button").addEventListener("click", () => {
      const numbers = head.classList.contains("right");
      const before = head.getAttribute("aria-sort");
      const up = before ? before === "descending" : !numbers;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows];
      rows.sort((a, b) => (up ? 1 : -1) * compare(a.cells[at].dataset.key, b.cells[at].dataset.key));
      body.append(...rows);
    }));
  }

  function searchable(input) {
    const rows = [...input.closest("section").querySelectorAll("tbody tr")];
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  document.querySelectorAll("input.search").forEach(searchable);

  async function library() {
    const packed = Uint8Array.from(atob(document.getElementById("library").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  function look() {
    const style = getComputedStyle(root);
    const color = (name) => style.getPropertyValue(name).trim();
    const axis = { gridcolor: color("--grid"), linecolor: color("--line"), zerolinecolor: color("--grid") };
    return { axis, layout: {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: color("--text"), size: 12 },
      margin: { l: 60, r: 16, t: 34, b: 44 }, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", traceorder: "normal" }, hoverlabel: { namelength: 60 }, autosize: true,
    } };
  }

  const figures = JSON.parse(document.getElementById("figures").textContent);

  async function draw() {
    const { axis, layout } = look();
    for (const place of document.querySelectorAll("[data-chart]")) {
      const figure = figures[place.dataset.chart];
      const full = Object.assign({ height: 320 }, layout, figure.layout);
      if (figure.data[0].type !== "sankey") {
        full.xaxis = Object.assign({}, axis, figure.layout.xaxis);
        full.yaxis = Object.assign({}, axis, figure.layout.yaxis);
      }
      const options = { displayModeBar: false, responsive: true };
      await Plotly.react(place, figure.data, full, options);
    }
    root.dataset.drawn = "yes";
  }

  function redraw() { if (window.Plotly) draw(); }

  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.classList.contains("dark")
      || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    root.classList.remove("dark", "light");
    root.classList.add(dark ? "light" : "dark");
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("beforeprint", () => {
    document.querySelectorAll("[data-chart]").forEach((place) => window.Plotly && Plotly.Plots.resize(place));
  });
  library().then(draw);
})();
