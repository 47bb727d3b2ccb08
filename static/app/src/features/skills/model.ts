/** Pure: how skills are grouped, marked and spoken of. */
import type { AgentRow } from "@/api/agents";
import type { Scope } from "@/api/settings";
import type { SkillRow } from "@/api/skills";
import type { RingState } from "@/shared/ui/Ring";

export const scopeOf = (row: { scope: string }): Scope => (row.scope === "workspace" ? "workspace" : "global");
export const keyOf = (row: { id: string; scope: string }): string => `${row.scope}/${row.id}`;

export function grouped(rows: readonly SkillRow[], text: string): Record<Scope, SkillRow[]> {
  const wanted = text.trim().toLowerCase();
  const found: Record<Scope, SkillRow[]> = { workspace: [], global: [] };
  for (const row of rows) {
    const places = [row.id, row.name, row.description, row.command ?? ""];
    if (!wanted || places.some((place) => place.toLowerCase().includes(wanted))) found[scopeOf(row)].push(row);
  }
  return found;
}

export const ringOf = (row: SkillRow): RingState => (row.error ? "err" : row.disabled || row.overridden ? "off" : "idle");

/** Agents of this workspace that list it; only the skill that serves the id is used by any. */
export const usedBy = (row: SkillRow, agents: readonly AgentRow[]): AgentRow[] =>
  row.overridden ? [] : agents.filter((agent) => !agent.overridden && agent.skills.includes(row.id));
