// Draws the relay graph and renews it. Nodes are links; arrow keys walk along the edges. The table says the same.
"use strict";

(() => {
  const RENEW_MS = 3000;
  const BOX = { width: 190, height: 46, gapX: 150, gapY: 26, pad: 8, round: 48 }; // round: room beside the boxes for lines that lead back
  const SVG = "http://www.w3.org/2000/svg";
  let last = "";

  function make(name, attributes, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const left = (node) => BOX.pad + node.column * (BOX.width + BOX.gapX);
  const top = (node) => BOX.pad + node.row * (BOX.height + BOX.gapY);

  function drawNode(node) {
    const [x, y] = [left(node), top(node)];
    const group = make(
      "a",
      { "data-key": node.key, tabindex: "0", "aria-label": [node.title, node.path, node.interims].filter(Boolean).join(", "), ...(node.href ? { href: node.href } : {}) },
      make("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6 }),
      make("text", { x: x + 10, y: y + 19 }, cut(node.title, 26)),
      make("text", { x: x + 10, y: y + 35, class: "second" }, cut([node.workspace, node.interims].filter(Boolean).join(" · "), 34)),
    );
    group.append(make("title", {}, `${node.title}\n${node.path}`));
    return group;
  }

  /** Such a line, or one to itself, goes round below its boxes. */
  const leadsBack = (from, to) => to.column <= from.column;

  function drawEdge(edge, from, to) {
    const start = [left(from) + BOX.width, top(from) + BOX.height / 2];
    const end = [left(to), top(to) + BOX.height / 2];
    const back = leadsBack(from, to);
    const low = Math.max(start[1], end[1]) + BOX.height / 2 + BOX.gapY / 2;
    const line = back
      ? `M${start} C${start[0] + 60},${start[1]} ${start[0] + 60},${low} ${(start[0] + end[0]) / 2},${low} S${end[0] - 60},${end[1]} ${end}`
      : `M${start} C${start[0] + 70},${start[1]} ${end[0] - 70},${end[1]} ${end}`;
    // Near the target, where lines of one caller have parted.
    const middle = back ? [(start[0] + end[0]) / 2, low + 4] : [start[0] + (end[0] - start[0]) * 0.6, start[1] + (end[1] - start[1]) * 0.65 + 4];
    const group = make("g", { class: edge.state, "aria-hidden": "true" }, make("path", { d: line }));
    group.append(make("path", { class: "arrow", d: `M${end} l-8,-4 v8 z` }));
    const label = ["aborted", "undelivered"].includes(edge.state) && edge.reason ? cut(edge.reason, 20) : edge.took;
    group.append(make("text", { x: middle[0], y: middle[1], class: "second", "text-anchor": "middle" }, label));
    group.append(make("title", {}, `${edge.word}${edge.reason ? `: ${edge.reason}` : ""}`));
    return group;
  }

  function draw(picture, { nodes, edges }) {
    const focused = document.activeElement?.closest?.("#relay-picture a")?.dataset.key;
    const byKey = new Map(nodes.map((node) => [node.key, node]));
    const width = Math.max(...nodes.map(left), 0) + BOX.width + BOX.pad;
    const height = Math.max(...nodes.map(top), 0) + BOX.height + BOX.gapY + BOX.pad;
    const lines = edges.filter((edge) => byKey.has(edge.from) && byKey.has(edge.to));
    const beside = lines.some((edge) => leadsBack(byKey.get(edge.from), byKey.get(edge.to))) ? BOX.round : 0;
    picture.setAttribute("viewBox", `${-beside} 0 ${width + 2 * beside} ${height}`);
    picture.style.minWidth = `${Math.round((width + 2 * beside) * 0.8)}px`; // smaller is unreadable: it scrolls
    // Oldest first: the newest of several between the same two is on top.
    picture.replaceChildren(
      ...lines.reverse().map((edge) => drawEdge(edge, byKey.get(edge.from), byKey.get(edge.to))),
      ...nodes.map(drawNode),
    );
    picture.toggleAttribute("hidden", nodes.length === 0);
    if (focused) picture.querySelector(`a[data-key="${CSS.escape(focused)}"]`)?.focus();
  }

  function cell(text, className = "") {
    const td = document.createElement("td");
    td.className = className;
    td.append(text);
    return td;
  }

  function row(edge) {
    const tr = document.createElement("tr");
    const state = document.createElement("a");
    state.className = "h-state";
    state.href = edge.href;
    const ring = document.createElement("span");
    ring.className = `h-ring ${edge.ring}`;
    ring.setAttribute("aria-hidden", "true");
    state.append(ring, edge.word);
    tr.append(cell(state), cell(edge.fromName, "h-what"), cell(edge.toName, "h-what"));
    for (const value of [edge.hop, edge.sends, edge.interims, edge.took]) tr.append(cell(String(value), "r"));
    tr.append(cell(edge.reason, "h-what"));
    return tr;
  }

  function list(body, edges) {
    if (body.contains(document.activeElement)) return; // nothing is replaced under the focus
    const none = document.createElement("tr");
    none.append(cell(body.dataset.none, "h-quiet"));
    none.firstChild.colSpan = 8;
    body.replaceChildren(...(edges.length ? edges.map(row) : [none]));
  }

  function walk(event, edges, nodes) {
    const key = event.target.closest?.("#relay-picture a")?.dataset.key;
    if (!key) return;
    const here = nodes.find((node) => node.key === key);
    const column = nodes.filter((node) => node.column === here?.column).sort((a, b) => a.row - b.row);
    const at = column.indexOf(here);
    const next = {
      ArrowRight: () => edges.find((edge) => edge.from === key && edge.to !== key)?.to,
      ArrowLeft: () => edges.find((edge) => edge.to === key && edge.from !== key)?.from,
      ArrowDown: () => column[at + 1]?.key,
      ArrowUp: () => column[at - 1]?.key,
    }[event.key]?.();
    if (!next) return;
    event.preventDefault();
    document.querySelector(`#relay-picture a[data-key="${CSS.escape(next)}"]`)?.focus();
  }

  document.addEventListener("DOMContentLoaded", () => {
    const page = document.getElementById("relay");
    const picture = document.getElementById("relay-picture");
    const body = document.getElementById("relay-rows");
    const status = document.getElementById("relay-state");
    let known = { nodes: [], edges: [] };

    async function renew() {
      if (document.hidden) return;
      try {
        const answer = await fetch(page.dataset.url, { headers: { "X-Requested-With": "fetch" }, redirect: "error" });
        if (!answer.ok) throw new Error(String(answer.status));
        const text = await answer.text();
        status.textContent = "";
        if (text === last) return;
        last = text;
      } catch {
        status.textContent = status.dataset.stale;
        return;
      }
      known = JSON.parse(last);
      draw(picture, known);
      list(body, known.edges);
      if (known.edges.length && !known.nodes.length) status.textContent = status.dataset.many;
    }

    picture.addEventListener("keydown", (event) => walk(event, known.edges, known.nodes));
    renew();
    setInterval(renew, RENEW_MS);
  });
})();
