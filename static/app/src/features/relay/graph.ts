/** Who waits for whom as a picture: callers left of their targets. Pure. Source: DESIGN 7 "Relay". */
import type { Dispatch } from "@/api/relay";

export const MOST_DRAWN = 12; // targets; beyond it a picture says less than the table
export const NODE = { width: 184, height: 56 } as const; // px
const GAP = { x: 160, y: 28 } as const;
const PAD = 8;
const SAG = 44; // how far an edge back to the left hangs below its ends

type Side = Dispatch["caller"];

export interface Node {
  key: string;
  side: Side;
  interims: number; // reports in between, of all tasks it was given here
  column: number;
  x: number;
  y: number;
}

/** The newest task between two sessions; `times` with the older ones. */
export interface Edge {
  from: string;
  to: string;
  dispatch: Dispatch;
  times: number;
  path: string;
  label: { x: number; y: number };
}

export interface Graph {
  nodes: Node[];
  edges: Edge[];
  width: number;
  height: number;
}

/** A session is one node; an end nobody may see is one for each task: it may be another session each time. */
const keyOf = (side: Side, dispatch: Dispatch, end: "from" | "to"): string =>
  side.workspace === null ? `${end}:${dispatch.id}` : `${side.workspace}\n${side.sessionId}`;

/** The picture of some tasks, newest first; null = it would have too many targets. */
export function graphOf(dispatches: readonly Dispatch[]): Graph | null {
  const edges = new Map<string, Pick<Edge, "from" | "to" | "dispatch" | "times">>();
  const sides = new Map<string, Side>();
  const interims = new Map<string, number>();
  for (const dispatch of dispatches) {
    const from = keyOf(dispatch.caller, dispatch, "from");
    const to = keyOf(dispatch.target, dispatch, "to");
    if (!sides.has(from)) sides.set(from, dispatch.caller);
    if (!sides.has(to)) sides.set(to, dispatch.target);
    interims.set(to, (interims.get(to) ?? 0) + dispatch.interims);
    const pair = `${from}\n\n${to}`;
    const known = edges.get(pair);
    if (known) known.times += 1;
    else edges.set(pair, { from, to, dispatch, times: 1 });
  }
  const found = [...edges.values()].reverse(); // oldest first: a circle is opened where it began
  if (new Set(found.map((edge) => edge.to)).size > MOST_DRAWN) return null;

  const columns = columnsOf(found);
  const filled = new Map<number, number>();
  for (const column of columns.values()) filled.set(column, (filled.get(column) ?? 0) + 1);
  const tallest = Math.max(0, ...filled.values());
  const taken = new Map<number, number>();
  const nodes = [...columns].map(([key, column]): Node => {
    const row = (taken.get(column) ?? 0) + (tallest - (filled.get(column) ?? 0)) / 2; // a short column stands in the middle
    taken.set(column, (taken.get(column) ?? 0) + 1);
    return { key, side: sides.get(key)!, interims: interims.get(key) ?? 0, column, x: PAD + column * (NODE.width + GAP.x), y: PAD + row * (NODE.height + GAP.y) };
  });
  const places = new Map(nodes.map((node) => [node.key, node]));
  const drawn = found.map((edge) => ({ ...edge, ...curve(places.get(edge.from)!, places.get(edge.to)!) }));
  const sags = drawn.some((edge) => places.get(edge.to)!.column <= places.get(edge.from)!.column);
  return {
    nodes,
    edges: drawn,
    width: 2 * PAD + filled.size * (NODE.width + GAP.x) - GAP.x,
    height: 2 * PAD + tallest * (NODE.height + GAP.y) - GAP.y + (sags ? SAG : 0),
  };
}

/** Each node right of all that call it. Of a circle the node named first stands left. */
function columnsOf(edges: readonly { from: string; to: string }[]): Map<string, number> {
  const nodes = [...new Set(edges.flatMap((edge) => [edge.from, edge.to]))];
  const callers = new Map(nodes.map((node) => [node, edges.filter((edge) => edge.to === node).map((edge) => edge.from)]));
  const columns = new Map<string, number>();
  while (columns.size < nodes.length) {
    const above = new Map(nodes.filter((node) => !columns.has(node)).map((node) => [node, allAbove(node, callers, columns)]));
    // Nothing open leads to it but what it leads to itself: first of all, or where a circle is opened.
    const next = [...above].find(([node, others]) => [...others].every((other) => above.get(other)!.has(node)))![0];
    const before = callers.get(next)!.map((caller) => columns.get(caller) ?? -1);
    columns.set(next, Math.max(-1, ...before) + 1);
  }
  return columns;
}

/** All that lead to a node, over however many steps, and have no column yet. */
function allAbove(node: string, callers: ReadonlyMap<string, readonly string[]>, columns: ReadonlyMap<string, number>): Set<string> {
  const found = new Set<string>();
  const ahead = [node];
  while (ahead.length > 0) {
    for (const caller of callers.get(ahead.pop()!)!) {
      if (columns.has(caller) || found.has(caller)) continue;
      found.add(caller);
      ahead.push(caller);
    }
  }
  return found;
}

function curve(from: Node, to: Node): Pick<Edge, "path" | "label"> {
  if (to.column > from.column) {
    const [x1, y1, x2, y2] = [from.x + NODE.width, from.y + NODE.height / 2, to.x, to.y + NODE.height / 2];
    const bend = x2 - GAP.x / 2; // in the last gap only: the label stands there, where no node is
    return { path: `M${x1} ${y1}H${x2 - GAP.x}C${bend} ${y1} ${bend} ${y2} ${x2} ${y2}`, label: { x: bend, y: (y1 + y2) / 2 } };
  }
  const [x1, y1, x2, y2] = [from.x + NODE.width / 2, from.y + NODE.height, to.x + NODE.width / 2, to.y + NODE.height];
  return { path: `M${x1} ${y1}C${x1} ${y1 + SAG} ${x2} ${y2 + SAG} ${x2} ${y2}`, label: { x: (x1 + x2) / 2, y: (y1 + y2) / 2 + SAG * 0.75 } };
}

export type Arrow = "ArrowLeft" | "ArrowRight" | "ArrowUp" | "ArrowDown";

/** Where an arrow leads from a node: along edges to targets and callers, up and down in its column. null = nowhere. */
export function walk(graph: Graph, key: string, arrow: Arrow): string | null {
  const here = graph.nodes.find((node) => node.key === key);
  if (!here) return null;
  const topmost = (nodes: Node[]): string | null => nodes.sort((a, b) => a.y - b.y)[0]?.key ?? null;
  const among = (keys: string[]): Node[] => graph.nodes.filter((node) => keys.includes(node.key));
  switch (arrow) {
    case "ArrowRight": return topmost(among(graph.edges.filter((edge) => edge.from === key).map((edge) => edge.to)));
    case "ArrowLeft": return topmost(among(graph.edges.filter((edge) => edge.to === key).map((edge) => edge.from)));
    case "ArrowDown": return topmost(graph.nodes.filter((node) => node.column === here.column && node.y > here.y));
    case "ArrowUp": return graph.nodes.filter((node) => node.column === here.column && node.y < here.y).sort((a, b) => b.y - a.y)[0]?.key ?? null;
  }
}
