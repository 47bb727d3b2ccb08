import { describe, expect, it } from "vitest";
import type { AgentRow } from "@/api/agents";
import type { SkillRow } from "@/api/skills";
import { grouped, ringOf, usedBy } from "./model";

const skill = (more: Partial<SkillRow> = {}): SkillRow => ({
  id: "notes", name: "Notes", description: "Keeps notes", path: "/n", scope: "global", command: "/notes", requiresAccess: null, verbs: [], userInvocable: true, modelInvocable: true,
  overridden: false, disabled: false, builtIn: false, warnings: [], error: "", ...more,
});

describe("the list of skills", () => {
  it("finds by name, purpose and command", () => {
    const rows = [skill(), skill({ id: "x", name: "X", description: "", command: null, scope: "workspace" })];
    expect([grouped(rows, "/not").global.length, grouped(rows, "KEEPS").global.length, grouped(rows, "zzz").global.length]).toEqual([1, 1, 0]);
    expect(grouped(rows, "").workspace).toHaveLength(1);
  });

  it("is red for what cannot load, off for what is switched off or hidden", () => {
    expect([ringOf(skill()), ringOf(skill({ error: "no header" })), ringOf(skill({ disabled: true })), ringOf(skill({ overridden: true }))]).toEqual(["idle", "err", "off", "off"]);
  });

  it("knows which agents list it; a hidden one serves nobody", () => {
    const agents = [{ id: "a", skills: ["notes"], overridden: false }, { id: "b", skills: [], overridden: false }] as unknown as AgentRow[];
    expect(usedBy(skill(), agents).map((agent) => agent.id)).toEqual(["a"]);
    expect(usedBy(skill({ overridden: true }), agents)).toEqual([]);
  });
});
