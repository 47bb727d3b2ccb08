/** Pure: how a session looks in a list. */
import type { SessionRow } from "@/api/sessions";
import type { RingState } from "@/shared/ui/Ring";

/** needs you > at work > unseen > archived > idle; what runs here and now the chat knows before the list does. */
export function rowState(row: SessionRow, running: readonly string[]): RingState {
  if (row.parkedAt) return "warn";
  if (row.running || row.compacting || running.includes(row.id)) return "run";
  if (row.unseen) return "new";
  return row.archivedAt ? "off" : "idle";
}

/** The last part of a model's id: `gpt-5-mini` of `openai/gpt-5-mini`. */
export const modelTail = (id: string): string => id.slice(id.lastIndexOf("/") + 1);

export const filterRows = (rows: readonly SessionRow[], text: string): SessionRow[] => {
  const wanted = text.trim().toLowerCase();
  return wanted ? rows.filter((row) => row.title.toLowerCase().includes(wanted)) : [...rows];
};

/** Rows with the titles that were given here and that the server has not yet confirmed. */
export const withTitles = (rows: readonly SessionRow[], wished: ReadonlyMap<string, string>): readonly SessionRow[] =>
  wished.size === 0 ? rows : rows.map((row) => ({ ...row, title: wished.get(row.id) ?? row.title }));

export const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => new Map([...map].filter(([one]) => one !== key));

export type Ago =
  | { kind: "now" }
  | { kind: "minutes" | "hours"; n: number }
  | { kind: "yesterday" }
  | { kind: "date"; at: number };

/** How long ago, coarse: rows must not change every second. */
export function ago(at: number, now: number): Ago {
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) return { kind: "now" };
  if (minutes < 60) return { kind: "minutes", n: minutes };
  const days = Math.round((startOfDay(now) - startOfDay(at)) / 86_400_000);
  if (days === 0) return { kind: "hours", n: Math.floor(minutes / 60) };
  return days === 1 ? { kind: "yesterday" } : { kind: "date", at };
}

const startOfDay = (at: number): number => new Date(at).setHours(0, 0, 0, 0);

/** Pages of a list that grew meanwhile may hold a row twice: the first one counts. */
export function flatten(pages: readonly { sessions: readonly SessionRow[] }[]): SessionRow[] {
  const seen = new Set<string>();
  return pages.flatMap((page) => page.sessions).filter((row) => !seen.has(row.id) && seen.add(row.id));
}
