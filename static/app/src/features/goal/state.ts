/** What the app knows of a goal, and what follows from it: pure. Source: spec spa 85. */
import type { RingState } from "@/shared/ui/Ring";
import type { Frame } from "@/socket";

export type Status = "intake" | "running" | "paused" | "halted" | "done";

export interface Goal {
  goalSessionId: string;
  workerSessionId: string;
  status: Status;
  round: number; // rounds that were judged
  maxRounds: number;
}

type Wire = Omit<Goal, "status"> & { status: string };

/** The goal after a frame: each `goal:changed` is the whole of it. */
export function told(goal: Goal | null, frame: Frame): Goal | null {
  if (frame.type !== "goal:changed") return goal;
  if (frame.status !== "cleared") return asGoal(frame);
  return goal?.goalSessionId === frame.goalSessionId ? null : goal;
}

/** A goal as frames and `GET /sessions/goal` write it. */
export const asGoal = ({ goalSessionId, workerSessionId, status, round, maxRounds }: Wire): Goal => ({
  goalSessionId, workerSessionId, status: status as Status, round, maxRounds,
});

const hasEnded = (status: Status): boolean => status === "halted" || status === "done";

export interface Banner {
  status: Status;
  round: number;
  maxRounds: number;
  ring: RingState;
  /** Where its two parts lead; null = that session is on screen. */
  toGoal: string | null;
  toWorker: string | null;
  mayDismiss: boolean;
}

const RINGS: Record<Status, RingState> = { intake: "wait", running: "run", paused: "wait", halted: "warn", done: "ok" };

/** The banner above the composer. `dismissed`: id of the ended goal a person has put away; `active`: the session on screen. */
export function bannerOf(goal: Goal | null, dismissed: string | null, active: string): Banner | null {
  if (goal === null) return null;
  const { status, round, maxRounds, goalSessionId, workerSessionId } = goal;
  const mayDismiss = hasEnded(status);
  if (mayDismiss && dismissed === goalSessionId) return null;
  const unlessShown = (id: string): string | null => (id === active ? null : id);
  return { status, round, maxRounds, ring: RINGS[status], toGoal: unlessShown(goalSessionId), toWorker: unlessShown(workerSessionId), mayDismiss };
}

/**
 * Whether a goal speaks to this session now, instead of people; slash commands still work there. A worker that crashed
 * and was parked listens to people: nobody else can wake it.
 */
export const isLed = (goal: Goal | null, workerParked: boolean, sessionId: string): boolean =>
  goal !== null && !workerParked && goal.workerSessionId === sessionId && (goal.status === "intake" || goal.status === "running");
