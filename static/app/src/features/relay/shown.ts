/** Which tasks the page shows, and how a state looks: pure. */
import type { Dispatch } from "@/api/relay";
import type { RingState } from "@/shared/ui/Ring";

export type Span = "open" | "day" | "all";
const DAY = 86_400_000; // ms

/** Newest first, each once. `open`: those that wait, however old; `listed`: the pages read so far. */
export function shownIn(span: Span, open: readonly Dispatch[], listed: readonly Dispatch[], now: number): Dispatch[] {
  const all = new Map([...open, ...listed].map((row) => [row.id, row]));
  const wanted = (row: Dispatch): boolean => row.closedAt === null || span === "all" || (span === "day" && now - row.closedAt < DAY);
  return [...all.values()].filter(wanted).sort((a, b) => b.id - a.id);
}

export type State = "working" | "pending" | "completed" | "aborted" | "stopped" | "cancelled" | "undelivered";

/** `line`: class of the edge. Dashed = waiting, green = delivered, red = aborted, grey = nobody waits any more. */
export const LOOKS: Record<State, { ring: RingState; line: "run" | "wait" | "ok" | "err" | "off" }> = {
  working: { ring: "run", line: "run" },
  pending: { ring: "wait", line: "wait" },
  completed: { ring: "ok", line: "ok" },
  aborted: { ring: "err", line: "err" },
  stopped: { ring: "off", line: "off" },
  cancelled: { ring: "off", line: "off" },
  undelivered: { ring: "warn", line: "err" },
};

export const stateOf = (row: Dispatch): State => row.state as State;

/** How long it was or is waited, in ms. */
export const waited = (row: Dispatch, now: number): number => (row.closedAt ?? now) - row.createdAt;
