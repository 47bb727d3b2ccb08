import { describe, expect, it } from "vitest";

import { newView, type Item, type ToolItem, type View } from "./model";
import { rowsOf, rowsOfView, type Row } from "./rows";

const DAY = Date.UTC(2026, 10, 23, 12);
const user = (id: number, at = DAY, deleted = false): Item => ({ kind: "user", key: `user:${id}`, at, entryId: id, text: `q${id}`, state: "sent", deleted });
const text = (turnId: string, place = 0, words = "words"): Item => ({ kind: "text", key: `text:${turnId}:${place}`, at: DAY, turnId, text: words });
const tool = (id: string, name = "file_read", output: string | null = "ok", turnId = "t1"): ToolItem => ({
  kind: "tool", key: `tool:${id}`, at: DAY, turnId, toolUseId: id, name, input: {}, output, tail: "", dropped: 0, ms: 3,
});
const usage = (turnId: string, output = 5, costMicros?: number): Item => ({
  kind: "usage", key: `usage:${turnId}`, at: DAY, turnId, usage: { inputTokens: 10, outputTokens: output }, costMicros, currency: "USD",
});
const kinds = (rows: readonly Row[]): string[] => rows.map((row) => row.kind);

describe("a command without an answer yet", () => {
  it("is the last line of the log, but for the caret of a run", () => {
    const view: View = { ...newView("s"), past: [user(1), text("t1")], executing: [{ key: "c1", line: "/help" }] };
    expect(kinds(rowsOfView(view, true)).slice(-2)).toEqual(["text", "executing"]);
    expect(kinds(rowsOfView({ ...view, awaiting: true }, true)).slice(-2)).toEqual(["executing", "caret"]);
    expect(rowsOfView(view, true).at(-1)).toBe(rowsOfView({ ...view }, true).at(-1));
  });
});

describe("rows", () => {
  it("let neighbouring reads share one line from the first one on, across model calls", () => {
    const rows = rowsOf([user(1), tool("a"), usage("t1"), tool("b", "grep", "ok", "t2"), usage("t2"), text("t3"), tool("c", "file_edit")]);
    expect(kinds(rows)).toEqual(["date", "user", "fold", "text", "tool", "usage"]);
    expect((rows[2] as Extract<Row, { kind: "fold" }>).items.map((item) => item.toolUseId)).toEqual(["a", "b"]);
  });

  it("put the line of a call under its last words and the sum at the end", () => {
    const rows = rowsOf([user(1), text("t1"), tool("a", "file_edit"), usage("t1", 5, 100), text("t2"), usage("t2", 7, 50)]);
    expect(kinds(rows)).toEqual(["date", "user", "text", "usage", "tool", "text", "usage"]);
    expect(rows.at(-1)).toMatchObject({ total: true, sum: { calls: 2, output: 12, costMicros: 150 } });
    expect(new Set(rows.map((row) => row.key)).size).toBe(rows.length);
  });

  it("do not repeat the sum of a single call", () => {
    expect(kinds(rowsOf([user(1), text("t1"), usage("t1")]))).toEqual(["date", "user", "text", "usage"]);
  });

  it("call a cost unknown as soon as one part of it is", () => {
    const rows = rowsOf([user(1), text("t1"), usage("t1", 1, 100), text("t2"), usage("t2", 1)]);
    expect(rows.at(-1)).toMatchObject({ sum: { costMicros: null } });
  });

  it("say nothing of usage when it is switched off", () => {
    expect(kinds(rowsOf([user(1), text("t1"), usage("t1")], false))).toEqual(["date", "user", "text"]);
  });

  it("begin each day with a separator, once", () => {
    expect(kinds(rowsOf([user(1), user(2), user(3, DAY + 2 * 86_400_000)]))).toEqual(["date", "user", "user", "date", "user"]);
  });

  it("shrink a deleted exchange to its message", () => {
    const gone = { ...text("t1"), deleted: true } as Item;
    expect(kinds(rowsOf([user(1, DAY, true), gone, user(2)]))).toEqual(["date", "user", "user"]);
  });

  it("keep the objects of rows that did not change, so that only the tail renders", () => {
    const past = [user(1), text("t1"), usage("t1"), user(2), text("t2")];
    const before: View = { ...newView("s"), past, running: true, live: [text("t3", 0, "a")] };
    const after: View = { ...before, live: [text("t3", 0, "ab")] };
    const [first, second] = [rowsOfView(before, true), rowsOfView(after, true)];
    expect(first.slice(0, -1).every((row, place) => row === second[place])).toBe(true);
    expect(first.at(-1)).not.toBe(second.at(-1));
  });

  it("show the caret while nothing else says that work goes on", () => {
    const base: View = { ...newView("s"), past: [user(1)], running: true };
    expect(kinds(rowsOfView(base, true)).at(-1)).toBe("caret");
    expect(kinds(rowsOfView({ ...base, live: [text("t1")] }, true))).not.toContain("caret");
    expect(kinds(rowsOfView({ ...base, live: [tool("a", "shell_exec", null)] }, true))).not.toContain("caret");
    expect(kinds(rowsOfView({ ...base, live: [tool("a", "shell_exec", "done")] }, true)).at(-1)).toBe("caret");
  });

  it("of 10,000 entries cost little when only the tail changes", () => {
    const past: Item[] = [];
    for (let n = 0; n < 2500; n += 1) past.push(user(n), text(`t${n}`), tool(`u${n}`), usage(`t${n}`));
    const view: View = { ...newView("s"), past, running: true };
    rowsOfView(view, true);
    const start = performance.now();
    for (let n = 0; n < 100; n += 1) rowsOfView({ ...view, live: [text("x", 0, "w".repeat(n))] }, true);
    expect((performance.now() - start) / 100).toBeLessThan(40);
  });
});

it("the line of a fork stands below all that was copied, its figures too", () => {
  const usage = (turnId: string): Item => ({ kind: "usage", key: `usage:${turnId}`, at: 1, turnId, usage: { inputTokens: 5, outputTokens: 2 } });
  const rows = rowsOf([
    { kind: "user", key: "u", at: 1, entryId: 1, text: "Go", state: "sent" },
    { kind: "text", key: "t", at: 1, turnId: "a", text: "One." }, usage("a"),
    { kind: "text", key: "t2", at: 1, turnId: "b", text: "Two." }, usage("b"),
    { kind: "notice", key: "n", at: 2, level: "system", text: "Forked", fork: { session: "s", entry: 1, title: null } },
  ]);
  expect(rows.at(-1)?.kind).toBe("notice");
  expect(rows.some((row) => row.kind === "usage" && row.total)).toBe(true);
});
