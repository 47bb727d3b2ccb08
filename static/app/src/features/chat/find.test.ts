import { describe, expect, it } from "vitest";

import { hitsOf, nextHit, rangesIn } from "./find";
import type { Item } from "./model";
import { rowsOf } from "./rows";

const base = { at: 1, turnId: "t" };
const items: Item[] = [
  { kind: "user", key: "u", at: 1, text: "Why does the Export time out?", state: "sent" },
  { kind: "text", key: "a", ...base, text: "The **export** reads it twice." },
  { kind: "tool", key: "c", ...base, toolUseId: "c", name: "shell_exec", input: { command: "pytest exports" }, output: "EXPORT", tail: "", dropped: 0, ms: 1 },
  { kind: "user", key: "d", at: 1, text: "export", state: "sent", deleted: true },
  { kind: "text", key: "b", ...base, turnId: "s", text: "Done." },
];

describe("find in session", () => {
  it("finds messages, answers and commands, whatever the case; not what was deleted", () => {
    expect(hitsOf(rowsOf(items), " export ")).toEqual(["u", "a", "c"]);
    expect(hitsOf(rowsOf(items), "e")).toEqual([]);
    expect(hitsOf(rowsOf(items), "nowhere")).toEqual([]);
  });

  it("begins at the newest and goes around", () => {
    const hits = ["u", "a", "c"];
    expect(nextHit(hits, null, -1)).toBe("c");
    expect(nextHit(hits, "c", -1)).toBe("a");
    expect(nextHit(hits, "u", -1)).toBe("c");
    expect(nextHit(hits, "c", 1)).toBe("u");
    expect(nextHit([], "u", 1)).toBeNull();
  });

  it("keeps its place when older hits come in above, and begins anew when its row is gone", () => {
    expect(nextHit(["x", "u", "a"], "u", -1)).toBe("x");
    expect(nextHit(["x", "a"], "u", -1)).toBe("a");
  });

  it("marks every place of the words", () => {
    const element = document.createElement("div");
    element.innerHTML = "<p>Export, <b>exports</b></p>";
    expect(rangesIn(element, "export").map((range) => range.toString())).toEqual(["Export", "export"]);
  });
});
