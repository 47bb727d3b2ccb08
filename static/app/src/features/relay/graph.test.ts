import { describe, expect, it } from "vitest";
import type { Dispatch } from "@/api/relay";
import { graphOf, MOST_DRAWN, NODE, walk, type Graph } from "./graph";

let id = 100;
/** A task from one session to another; ids fall, as the newest comes first. "?" = an end nobody may see. */
const task = (from: string, to: string, more: Partial<Dispatch> = {}): Dispatch => {
  const side = (name: string) => (name === "?" ? { workspace: null, sessionId: null, title: null } : { workspace: "/srv", sessionId: name, title: name });
  return { id: id--, caller: side(from), target: side(to), state: "pending", reason: "", hop: 1, sends: 1, interims: 0, createdAt: 0, closedAt: null, ...more };
};
const draw = (...tasks: Dispatch[]): Graph => graphOf(tasks)!;
const named = (graph: Graph) => new Map(graph.nodes.map((node) => [node.side.sessionId ?? "?", node]));
const columns = (graph: Graph) => Object.fromEntries([...named(graph)].map(([name, node]) => [name, node.column]));

describe("a relay graph", () => {
  it("has callers left and their targets right", () => {
    expect(columns(draw(task("a", "b"), task("a", "c")))).toEqual({ a: 0, b: 1, c: 1 });
  });

  it("puts a target right of all its callers, however long the chain", () => {
    expect(columns(draw(task("c", "d"), task("b", "c"), task("a", "b"), task("a", "d")))).toEqual({ a: 0, b: 1, c: 2, d: 3 });
  });

  it("opens a circle at the session that began it", () => {
    const graph = draw(task("b", "a"), task("a", "b"));
    expect(columns(graph)).toEqual({ a: 0, b: 1 });
    expect(graph.edges).toHaveLength(2);
    expect(graph.edges.every(({ label }) => label.y < graph.height)).toBe(true); // the way back hangs below
  });

  it("puts what a circle leads to right of it", () => {
    expect(columns(draw(task("b", "a"), task("a", "b"), task("b", "c"), task("x", "c")))).toEqual({ x: 0, b: 0, a: 1, c: 1 });
  });

  it("keeps everything within its size and no node on another", () => {
    const graph = draw(task("b", "a"), task("a", "b"), task("a", "c"), task("a", "d"), task("c", "e"), task("x", "e"));
    for (const node of graph.nodes) {
      expect(node.x).toBeGreaterThanOrEqual(0);
      expect(node.y).toBeGreaterThanOrEqual(0);
      expect(node.x + NODE.width).toBeLessThanOrEqual(graph.width);
      expect(node.y + NODE.height).toBeLessThanOrEqual(graph.height);
      const others = graph.nodes.filter((other) => other !== node && other.column === node.column);
      expect(others.every((other) => Math.abs(other.y - node.y) >= NODE.height)).toBe(true);
    }
    for (const { label } of graph.edges) {
      expect(graph.nodes.some((node) => label.x > node.x && label.x < node.x + NODE.width && label.y > node.y && label.y < node.y + NODE.height)).toBe(false);
    }
  });

  it("stands a lone caller in the middle of its targets", () => {
    const at = named(draw(task("a", "b"), task("a", "c"), task("a", "d")));
    expect(at.get("a")!.y).toBe([at.get("b")!.y, at.get("c")!.y, at.get("d")!.y].sort((x, y) => x - y)[1]);
  });

  it("shows the newest of several tasks between two sessions, and all their interim reports", () => {
    const graph = draw(task("a", "b", { state: "working", interims: 1 }), task("a", "b", { state: "aborted", interims: 2 }));
    expect(graph.edges).toMatchObject([{ times: 2, dispatch: { state: "working" } }]);
    expect(named(graph).get("b")!.interims).toBe(3);
  });

  it("does not say that two hidden ends are the same session", () => {
    expect(draw(task("?", "b"), task("?", "b")).nodes).toHaveLength(3);
  });

  it(`becomes a table beyond ${MOST_DRAWN} targets`, () => {
    const many = (count: number) => Array.from({ length: count }, (_, n) => task("a", `t${n}`));
    expect(graphOf(many(MOST_DRAWN))).not.toBeNull();
    expect(graphOf(many(MOST_DRAWN + 1))).toBeNull();
  });
});

describe("the arrows", () => {
  const graph = draw(task("a", "b"), task("a", "c"), task("c", "d"));
  const key = (name: string) => named(graph).get(name)!.key;
  const [upper, lower] = named(graph).get("b")!.y < named(graph).get("c")!.y ? ["b", "c"] : ["c", "b"];

  it("lead along edges to targets and back to callers", () => {
    expect(walk(graph, key("a"), "ArrowRight")).toBe(key(upper!));
    expect(walk(graph, key("c"), "ArrowRight")).toBe(key("d"));
    expect(walk(graph, key("d"), "ArrowLeft")).toBe(key("c"));
    expect(walk(graph, key("a"), "ArrowLeft")).toBeNull();
  });

  it("lead up and down in a column", () => {
    expect(walk(graph, key(upper!), "ArrowDown")).toBe(key(lower!));
    expect(walk(graph, key(lower!), "ArrowUp")).toBe(key(upper!));
    expect(walk(graph, key(lower!), "ArrowDown")).toBeNull();
  });
});
