/** Pure: how agents are grouped, marked and spoken of. */
import type { AgentRow } from "@/api/agents";
import type { Scope } from "@/api/settings";
import type { RingState } from "@/shared/ui/Ring";

export const GROUPS = ["workspace", "global", "internal"] as const;
export type Group = (typeof GROUPS)[number];

export const scopeOf = (row: { scope: string }): Scope => (row.scope === "workspace" ? "workspace" : "global");
export const keyOf = (row: { id: string; scope: string }): string => `${row.scope}/${row.id}`;

export const groupOf = (row: AgentRow): Group => (row.internal ? "internal" : scopeOf(row));

export function grouped(rows: readonly AgentRow[], text: string): Record<Group, AgentRow[]> {
  const wanted = text.trim().toLowerCase();
  const found: Record<Group, AgentRow[]> = { workspace: [], global: [], internal: [] };
  for (const row of rows) {
    if (wanted && ![row.id, row.name, row.description].some((place) => place.toLowerCase().includes(wanted))) continue;
    found[groupOf(row)].push(row);
  }
  return found;
}

/** Red = it cannot run; amber = its file is broken and an older version runs. */
export function ringOf(row: AgentRow): RingState {
  if (row.error) return row.model === null || !/stays active/.test(row.error) ? "err" : "warn";
  return row.disabled || row.overridden ? "off" : "idle";
}

/** May stand in front of a new session. */
export const offered = (row: AgentRow): boolean => !row.disabled && !row.overridden && !row.internal && ringOf(row) !== "err";

const word = (value: unknown): string => (typeof value === "string" ? value : "");

export function modelOf(row: AgentRow): { provider: string; id: string; endpoint: string } {
  return { provider: word(row.model?.provider), id: word(row.model?.id), endpoint: word(row.model?.endpoint) };
}

/** The line an error speaks of, from 1; 0 = none. */
export const lineOf = (error: string): number => Number(/\bline (\d+)\b/.exec(error)?.[1] ?? 0);

/** The id the server makes of a name. */
export const idOf = (name: string): string =>
  name.trim().toLowerCase().replace(/[^a-z0-9\u4e00-\u9fff]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 64).replace(/-+$/, "");

/** Names with one of them put in or taken out; what is known comes in its known order, the rest stays behind it. */
export function flipped(chosen: readonly string[], name: string): string[] {
  return chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name];
}

/** What a row of choices offers: everything known, and what the file names although nobody knows it. */
export function choices(known: readonly string[], chosen: readonly string[]): { name: string; on: boolean; known: boolean }[] {
  const strangers = chosen.filter((name) => !known.includes(name));
  return [...known, ...strangers].map((name) => ({ name, on: chosen.includes(name), known: known.includes(name) }));
}
