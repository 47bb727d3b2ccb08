// The dashboard draws and renews itself; "/" opens the finder. No inline script anywhere: the admin's CSP forbids it.
"use strict";

(() => {
  const RENEW_MS = 15000;
  let charts = [];
  let madeAt = 0;

  const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const short = (value) => {
    for (const [limit, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(value) >= limit) return `${String(Math.round((value / limit) * 10) / 10)}${unit}`;
    }
    return String(value);
  };

  function draw() {
    for (const chart of charts) chart.destroy();
    charts = [];
    for (const canvas of document.querySelectorAll("canvas[data-chart]")) {
      charts.push(new Chart(canvas, configOf(JSON.parse(canvas.dataset.chart))));
    }
  }

  function configOf({ kind, labels, sets }) {
    const bars = kind === "turns";
    const last = labels.length - 1;
    const datasets = sets.map((set) =>
      bars
        ? {
            label: set.name,
            data: set.values,
            backgroundColor: token(set.color),
            borderColor: token("--h-card"),
            borderWidth: { top: 1 },
            borderSkipped: false,
            categoryPercentage: 0.9,
            barPercentage: 0.72,
            maxBarThickness: 26,
          }
        : {
            label: set.name,
            data: set.values,
            borderColor: set.fill ? token("--h-accent-line") : token(set.color),
            borderWidth: set.fill ? 1 : 2,
            backgroundColor: set.fill ? token(set.fill) : token(set.color),
            fill: set.fill ? "origin" : false,
            order: set.fill ? 2 : 1,
            tension: 0,
            pointRadius: (point) => (!set.fill && point.dataIndex === last ? 3.5 : 0),
            pointHoverRadius: 4,
          },
    );
    const font = { family: "Inter, system-ui, sans-serif", size: 11 };
    const ticks = { color: token("--h-t3"), font, padding: 6 };
    return {
      type: bars ? "bar" : "line",
      data: { labels, datasets },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: { legend: { display: false }, tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${item.formattedValue}` } } },
        scales: {
          x: { stacked: bars, grid: { display: false }, border: { display: false }, ticks: { ...ticks, maxRotation: 0, autoSkipPadding: 14 } },
          y: {
            stacked: bars,
            beginAtZero: true,
            grid: { color: token("--h-line"), tickLength: 0 },
            border: { display: false },
            ticks: { ...ticks, maxTicksLimit: 6, precision: 0, callback: short },
          },
        },
      },
    };
  }

  function took(age) {
    madeAt = Date.now() - Number(age) * 1000;
  }

  function tick() {
    const label = document.getElementById("h-age");
    if (label) label.textContent = label.dataset.text.replace("SECONDS", Math.max(0, Math.round((Date.now() - madeAt) / 1000)));
  }

  // Renewal keeps what the person is doing: nothing is replaced under the pointer's focus, open tables stay open.
  async function renew() {
    const box = document.getElementById("h-cards");
    if (document.hidden || box.contains(document.activeElement)) return;
    let answer;
    try {
      answer = await fetch(box.dataset.url, { headers: { "X-Requested-With": "fetch" }, redirect: "error" });
    } catch {
      return; // offline or signed out: the age keeps growing, which says it
    }
    if (!answer.ok || box.contains(document.activeElement)) return;
    const text = await answer.text();
    const open = [...box.querySelectorAll("details[open]")].map((item) => item.id);
    box.replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.childNodes);
    for (const id of open) document.getElementById(id)?.setAttribute("open", "");
    took(box.querySelector("[data-age]").dataset.age);
    draw();
    tick();
  }

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    // On list pages "/" goes to the list's own search field.
    if (event.key === "/" && !typing && !document.getElementById("searchbar") && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      window.dispatchEvent(new CustomEvent("opencommand"));
    }
  });

  // Enter takes the first result when none is chosen; unfold's own handler would fail there.
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.key !== "Enter" || event.target.id !== "search-input-command") return;
      const list = document.getElementById("command-results-list");
      if (list?.querySelector("li.active a")) return;
      event.preventDefault();
      event.stopPropagation();
      list?.querySelector("a")?.click();
    },
    true,
  );

  document.addEventListener("DOMContentLoaded", () => {
    const age = document.getElementById("h-age");
    if (!age) return;
    took(age.dataset.age);
    // Alpine sets the theme class after this; charts follow each change of it.
    new MutationObserver(draw).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
    draw();
    setInterval(tick, 1000);
    setInterval(renew, RENEW_MS);
  });
})();
