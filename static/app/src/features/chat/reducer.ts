/**
 * One frame in, the next view out; pure, `now` is an argument. Snapshot plus replay must give what a tab that stayed
 * has (reducer.test.ts proves it over random runs). Source: spec ws-protocol 28 to 36, spa 31 to 36, 52.
 */
import type { Frame, QueueItem } from "@/socket/frames";
import { reduceAgents } from "./agents";
import type { Executing, Item, UserItem, View } from "./model";
import { delta, dropsOnReset, endThinking, grow, mapTool, settle, toolCall, toolResult, usage } from "./openTurn";
import { acked, addUser, flushTaken, knows, mapPending, queueChanged } from "./ownMessages";
import { applySnapshot, fresh, markExchange, trim } from "./windows";

/** What the engine says when a person stopped a run; shown with the time it took and a way to go on. */
const STOPPED = "Stopped.";

export type Local =
  | { type: "local:send"; item: UserItem }
  | { type: "local:acked"; clientMsgId: string; entryId: number }
  | { type: "local:failed"; clientMsgId: string; reason?: string }
  | { type: "local:resend"; clientMsgId: string }
  | { type: "local:discard"; clientMsgId: string }
  | { type: "local:removing"; entryId: number }
  | { type: "local:delete"; entryId: number; deleted: boolean }
  | { type: "local:older"; items: readonly Item[]; hasMore: boolean; before: number | null }
  | { type: "local:trim"; keep: number }
  | { type: "local:unseen"; unseen: boolean }
  | { type: "local:command"; command: Executing }
  | { type: "local:lost" } // the link: what was asked there has no answer any more
  | { type: "local:idle" };

export function reduceView(view: View, frame: Frame | Local, now: number): View {
  // What a sub-agent says belongs to its own log; here it is only a line that says that it works.
  if ("taskId" in frame && frame.taskId) return reduceAgents(view, frame, now);
  if ("seq" in frame && typeof frame.seq === "number" && frame.seq > view.seq) view = { ...view, seq: frame.seq };
  if (view.executing.length > 0 && answersCommand(frame)) view = { ...view, executing: view.executing.slice(1) };
  switch (frame.type) {
    case "state:snapshot":
      return applySnapshot(view, frame.snapshot, now);
    case "chat:stream":
      return delta(atWork(view, now), "text", frame.turnId, frame.text, frame.agentName, now);
    case "chat:thinking":
      return delta(atWork(view, now), "thinking", frame.turnId, frame.text, frame.agentName, now);
    case "agent:tool_call":
      return toolCall(atWork(view, now), frame, now);
    case "agent:tool_output":
      return mapTool(view, frame.toolUseId, (tool) => ({ ...tool, ...grow(tool, frame.text, frame.dropped ?? 0) }));
    case "agent:tool_result":
      return toolResult(view, frame.toolUseId, frame.result, frame.durationMs ?? null);
    case "chat:usage":
      return usage(view, frame, now);
    case "chat:followup":
      return frame.replay
        ? { ...atWork(view, now), past: view.settled, live: [], resyncing: null }
        : flushTaken({ ...atWork(endThinking(view, now), now), failed: false }, now);
    case "chat:complete":
      return complete(view, now);
    case "chat:stopped":
      return stopped(view, now);
    case "chat:user":
      return otherUser(view, frame, now);
    case "chat:system":
      return frame.text === STOPPED ? stopped(view, now) : notice(view, frame.text, "system", undefined, now);
    case "error":
      return failure(view, frame, now);
    case "queue:changed":
      return queueChanged(view, frame.items as unknown as QueueItem[], frame.removed ?? [], now);
    case "stream_reset":
      return { ...view, live: view.live.filter((item) => !dropsOnReset(item, frame.turnId)) };
    case "resync":
      return { ...view, resyncing: view.resyncing ?? now };
    case "compact:started":
    case "compact:summarizing":
      return { ...view, compacting: true };
    case "compact:done":
      return { ...view, compacting: false };
    case "session:compacted": {
      const next = { ...view, compacting: false, contextTokens: frame.contextTokens ?? view.contextTokens };
      return frame.message ? notice(next, frame.message, "system", undefined, now) : next;
    }
    case "local:send":
      return { ...view, pending: [...view.pending, frame.item], failed: false };
    case "local:acked":
      return acked(view, frame.clientMsgId, frame.entryId);
    case "local:failed":
      return { ...mapPending(view, frame.clientMsgId, { state: "failed", reason: frame.reason }), awaiting: false };
    case "local:resend":
      return mapPending(view, frame.clientMsgId, { state: "sending", at: now, reason: undefined });
    case "local:discard":
      return { ...view, pending: view.pending.filter((item) => item.clientMsgId !== frame.clientMsgId) };
    case "local:removing":
      return { ...view, removed: [...view.removed, frame.entryId] };
    case "local:delete":
      return markExchange(view, frame.entryId, frame.deleted);
    case "local:older":
      return { ...view, past: [...fresh(frame.items, view.past), ...view.past], hasMore: frame.hasMore, before: frame.before };
    case "local:trim":
      return trim(view, frame.keep);
    case "local:unseen":
      return view.unseen === frame.unseen ? view : { ...view, unseen: frame.unseen };
    case "local:command":
      return { ...view, executing: [...view.executing, frame.command] };
    case "local:lost":
      return view.executing.length > 0 ? { ...view, executing: [] } : view;
    case "local:idle":
      return view.between ? over(view, now) : view;
    default:
      return view; // frames of other features, or of a later server: nothing to do with this log
  }
}

/** The server answers commands one after another, and not as part of a run; a compaction shows itself. */
function answersCommand(frame: Frame | Local): boolean {
  if (frame.type === "compact:started") return true;
  if ("seq" in frame && frame.seq !== undefined) return false;
  if (frame.type === "chat:system") return frame.code === undefined; // a stored notice that arrives has one
  return frame.type === "session:compacted" || frame.type === "error";
}

function atWork(view: View, now: number): View {
  if (view.running && !view.awaiting && !view.between) return view;
  const fresh = !view.running && !view.awaiting;
  return {
    ...view,
    running: true,
    awaiting: false,
    between: false,
    failed: false,
    startedAt: fresh ? now : (view.startedAt ?? now),
    endedAt: null,
    ...(fresh ? { runOutput: 0, runCost: null } : {}),
  };
}

function complete(view: View, now: number): View {
  const flushed = flushTaken(view, now);
  const more = flushed.queue.length > 0; // the run goes on with what is queued
  const done = settle(flushed, now);
  // After a Stop nothing follows: what was queued is folded into the log.
  if (more && !wasStopped(done)) return { ...done, between: true };
  return over(done, now);
}

const wasStopped = (view: View): boolean => {
  const last = view.past.at(-1);
  return last?.kind === "notice" && last.level === "stopped";
};

function over(view: View, now: number): View {
  return {
    ...view,
    running: false,
    awaiting: false,
    between: false,
    compacting: false,
    endedAt: now,
    readIds: [],
    unseen: view.running || view.unseen,
    agents: view.agents.filter((agent) => !agent.done), // the others go on while this session waits for them
  };
}

function stopped(view: View, now: number): View {
  if ((!view.running && !view.awaiting) || view.live.some((item) => item.kind === "notice" && item.level === "stopped")) return view;
  const ms = view.startedAt === null ? undefined : now - view.startedAt;
  const item: Item = { kind: "notice", key: `stopped:${view.sessionId}:${now}`, at: now, level: "stopped", text: "", ms };
  return { ...view, live: [...view.live, item] };
}

function otherUser(view: View, frame: Extract<Frame, { type: "chat:user" }>, now: number): View {
  if (knows(view, frame.entryId)) return view;
  if (view.queue.some((item) => item.entryId === frame.entryId)) return keepOrigin(view, frame, now);
  const mine = frame.clientMsgId
    ? view.pending.find((item) => item.clientMsgId === frame.clientMsgId)
    : undefined;
  if (mine) return acked(view, mine.clientMsgId!, frame.entryId);
  const idle = !view.running && !view.awaiting;
  const next = addUser(view, { kind: "user", key: `user:${frame.entryId}`, at: now, entryId: frame.entryId, text: frame.text, state: "sent", origin: frame.origin ?? null });
  return idle ? { ...next, awaiting: true, startedAt: now, endedAt: null, runOutput: 0, runCost: null } : next;
}

/** The queue told of it first, and tells only its kind: who sent it and from where comes into the log with it. */
function keepOrigin(view: View, frame: Extract<Frame, { type: "chat:user" }>, now: number): View {
  if (!frame.origin || frame.origin.kind === "person" || view.pending.some((item) => item.entryId === frame.entryId)) return view;
  const told: UserItem = { kind: "user", key: `user:${frame.entryId}`, at: now, entryId: frame.entryId, text: frame.text, state: "sent", origin: frame.origin };
  return { ...view, pending: [...view.pending, told] };
}

function notice(view: View, text: string, level: "system" | "error", code: string | undefined, now: number): View {
  const last = view.live.at(-1) ?? view.past.at(-1);
  // The same words twice in a row are one piece of news.
  if (last?.kind === "notice" && last.text === text && last.level === level) return view;
  const key = `notice:${view.sessionId}:${now}:${view.live.length}`;
  return { ...view, live: [...view.live, { kind: "notice", key, at: now, level, text, code }] };
}

function failure(view: View, frame: Extract<Frame, { type: "error" }>, now: number): View {
  if ("clientMsgId" in frame && frame.clientMsgId) {
    return mapPending({ ...view, awaiting: false }, frame.clientMsgId, { state: "failed", reason: frame.error });
  }
  const shown = notice(endThinking(view, now), frame.error, "error", frame.code, now);
  // Only an error of the run itself ends it; an answer to something this tab asked for has no place in the run.
  return frame.seq === undefined ? shown : { ...shown, failed: true };
}

/** Everything that is shown of the conversation, oldest first. */
export const allItems = (view: View): readonly Item[] =>
  view.live.length > 0 ? [...view.past, ...view.live] : view.past;
