import { describe, expect, it } from "vitest";
import type { AgentRow } from "@/api/agents";
import { choices, flipped, grouped, idOf, lineOf, offered, ringOf } from "./model";

const row = (more: Partial<AgentRow> = {}): AgentRow => ({
  id: "a", name: "A", description: "", model: { provider: "demo", id: "demo" }, path: "/a", scope: "global", priority: 0, tools: [], skills: [], team: [],
  overridden: false, disabled: false, internal: false, builtIn: false, warnings: [], error: "", ...more,
} as AgentRow);

describe("the list of agents", () => {
  it("has three groups, and internal ones never stand among the others", () => {
    const found = grouped([row(), row({ id: "b", scope: "workspace" }), row({ id: "c", internal: true })], "");
    expect([found.workspace.length, found.global.length, found.internal.length]).toEqual([1, 1, 1]);
    expect(grouped([row({ description: "writes tests" })], "TEST").global).toHaveLength(1);
  });

  it("is red for what cannot run and amber for a broken file whose last version runs", () => {
    expect(ringOf(row({ error: "agent.yaml: line 3: bad; the version before stays active" }))).toBe("warn");
    expect(ringOf(row({ error: "line 3: bad", model: null }))).toBe("err");
    expect(ringOf(row({ error: "model.id missing" }))).toBe("err");
    expect([ringOf(row()), ringOf(row({ disabled: true }))]).toEqual(["idle", "off"]);
    expect([offered(row()), offered(row({ internal: true })), offered(row({ error: "line 3", model: null }))]).toEqual([true, false, false]);
  });

  it("finds the line an error names", () => {
    expect([lineOf("/x/agent.yaml: line 12: bad"), lineOf("Invalid YAML: line 3: colour"), lineOf("no such agent")]).toEqual([12, 3, 0]);
  });

  it("knows the id a name will get", () => {
    expect([idOf("  Code Reviewer! "), idOf("审阅 助手"), idOf("***")]).toEqual(["code-reviewer", "审阅-助手", ""]);
  });

  it("offers what is known, and shows what only the file names", () => {
    expect(choices(["grep", "glob"], ["glob", "draft"])).toEqual([
      { name: "grep", on: false, known: true }, { name: "glob", on: true, known: true }, { name: "draft", on: true, known: false },
    ]);
    expect([flipped(["a"], "b"), flipped(["a", "b"], "a")]).toEqual([["a", "b"], ["b"]]);
  });
});
