/**
 * The socket's link as a pure state machine: `step(link, input)` gives the next state and what to do about it.
 * It decides when to connect, ping, give up, resend and fail; it knows no WebSocket, no clock, no DOM.
 * Source: spec ws-protocol rules 41 to 46, times of spa 2.3.
 */
import type { ChatOut, Frame, OutFrame } from "./frames";

export const PING_EVERY = 15_000;
export const MISSED_PINGS = 2;
export const CONNECT_LIMIT = 10_000;
export const BACKOFF_FIRST = 1_000;
export const BACKOFF_LAST = 30_000;
export const ACK_LIMIT = 5_000;
export const TRANSMISSIONS = 3;
export const CHAT_DEADLINE = 120_000;
export const FRESH_FOR = 30_000;
export const STALE_AFTER = 45_000;
export const HIDDEN_LONG = 300_000;
export const MOST_CHATS = 100;
export const MOST_QUEUED = 100;

export type Phase = "idle" | "connecting" | "open" | "waiting" | "signed-out";

export interface PendingChat {
  frame: ChatOut;
  sent: number; // transmissions so far, over all links
  sentAt: number | null; // on the present link; null = not yet
  deadline: number; // ms; after it the message has failed
}

export interface Link {
  phase: Phase;
  socket: number; // number of the present socket; what an older one says is ignored
  since: number; // ms when the phase began
  downSince: number | null; // ms since when there is no open link
  opens: number;
  attempt: number; // failures in a row
  jitter: number; // 0..1, fixed per tab: many tabs must not come back in the same instant
  retryAt: number | null;
  lastInbound: number;
  lastPing: number;
  probes: number; // pings without any frame after them
  hiddenSince: number | null;
  online: boolean;
  project: string | null;
  sessions: readonly string[]; // open tabs that exist on the server
  queue: readonly OutFrame[];
  chats: readonly PendingChat[];
}

export type Input =
  | { kind: "start"; project: string; now: number }
  | { kind: "stop" }
  | { kind: "opened"; socket: number; now: number }
  | { kind: "closed"; socket: number; code?: number; now: number }
  | { kind: "frame"; socket: number; frame: Frame; now: number }
  | { kind: "tick"; now: number }
  | { kind: "online"; now: number }
  | { kind: "offline"; now: number }
  | { kind: "hidden"; now: number }
  | { kind: "visible"; now: number }
  | { kind: "retry"; now: number }
  | { kind: "auth"; signedIn: boolean; now: number }
  | { kind: "signed-in"; now: number }
  | { kind: "send"; frame: OutFrame; now: number }
  | { kind: "chat"; frame: ChatOut; now: number }
  | { kind: "forget-chat"; clientMsgId: string }
  | { kind: "subscribe"; sessionId: string; now: number }
  | { kind: "unsubscribe"; sessionId: string; now: number };

export type Effect =
  | { kind: "connect"; socket: number }
  | { kind: "close"; socket: number }
  | { kind: "transmit"; socket: number; frame: OutFrame }
  | { kind: "check-auth" }
  | { kind: "deliver"; frame: Frame }
  | { kind: "acked"; clientMsgId: string; entryId: number }
  | { kind: "failed"; clientMsgId: string; reason: "deadline" | "overflow" }
  | { kind: "connected"; again: boolean }
  | { kind: "signed-out" };

type Step = [Link, Effect[]];

export function newLink(now: number, jitter = 0): Link {
  return {
    phase: "idle",
    socket: 0,
    since: now,
    downSince: now,
    opens: 0,
    attempt: 0,
    jitter,
    retryAt: null,
    lastInbound: now,
    lastPing: now,
    probes: 0,
    hiddenSince: null,
    online: true,
    project: null,
    sessions: [],
    queue: [],
    chats: [],
  };
}

/** Frames that make no sense later: sent now or never (spec ws-protocol 44). */
const neverQueued = (type: string): boolean =>
  type === "__ping__" || type === "terminal:input" || type === "terminal:resize";

const backoff = (link: Link): number =>
  Math.min(BACKOFF_LAST, BACKOFF_FIRST * 2 ** Math.min(link.attempt, 10)) * (1 + 0.2 * link.jitter);

function connect(link: Link, now: number): Step {
  const socket = link.socket + 1;
  return [{ ...link, phase: "connecting", socket, since: now, retryAt: null, probes: 0 }, [{ kind: "connect", socket }]];
}

/** The present socket is gone or given up; its late events carry an old number. */
function lose(link: Link, now: number): Link {
  return {
    ...link,
    socket: link.socket + 1,
    downSince: link.downSince ?? now,
    chats: link.chats.map((chat) => (chat.sentAt === null ? chat : { ...chat, sentAt: null })),
  };
}

function wait(link: Link, now: number): Link {
  return { ...lose(link, now), phase: "waiting", since: now, retryAt: now + backoff(link), attempt: link.attempt + 1 };
}

/** Give the link up and make a new one at once: we decided that it is dead, so there is nothing to wait for. */
function renew(link: Link, now: number): Step {
  const [next, effects] = connect(lose(link, now), now);
  return [next, [{ kind: "close", socket: link.socket }, ...effects]];
}

function transmit(link: Link, frame: OutFrame): Effect {
  return { kind: "transmit", socket: link.socket, frame };
}

function subscribeFrames(link: Link): OutFrame[] {
  if (link.project === null) return [];
  const projectId = link.project;
  // Without a session the workspace still has to be bound: its events flow before one is chosen (rule 7).
  if (link.sessions.length === 0) return [{ type: "subscribe", projectId }];
  return link.sessions.map((sessionId) => ({ type: "subscribe", sessionId, projectId }));
}

function onOpened(link: Link, now: number): Step {
  const chats = link.chats.map((chat) => ({ ...chat, sent: chat.sent + 1, sentAt: now }));
  const next: Link = {
    ...link,
    phase: "open",
    since: now,
    downSince: null,
    opens: link.opens + 1,
    lastInbound: now,
    lastPing: now,
    probes: 0,
    queue: [],
    chats,
  };
  const frames: OutFrame[] = [...link.queue, ...chats.map((chat) => chat.frame), ...subscribeFrames(link)];
  return [next, [...frames.map((frame) => transmit(next, frame)), { kind: "connected", again: link.opens > 0 }]];
}

function onClosed(link: Link, code: number | undefined, now: number): Step {
  if (link.phase !== "connecting" && link.phase !== "open") return [link, []];
  // Browsers hide the 401 of a refused upgrade, and 1008 says that rights changed: ask (rule 45).
  const ask = link.phase === "connecting" || code === 1008;
  return [wait(link, now), ask ? [{ kind: "check-auth" }] : []];
}

function onFrame(link: Link, frame: Frame, now: number): Step {
  const next: Link = { ...link, lastInbound: now, probes: 0, attempt: 0 };
  switch (frame.type) {
    case "__pong__":
      return [next, []];
    case "chat:ack":
      return [
        { ...next, chats: next.chats.filter((chat) => chat.frame.clientMsgId !== frame.clientMsgId) },
        [{ kind: "acked", clientMsgId: frame.clientMsgId, entryId: frame.entryId }],
      ];
    case "error":
      // A chat that the server refuses for good must not be sent again.
      if ("clientMsgId" in frame && frame.clientMsgId) {
        const refused = frame.clientMsgId;
        return [
          { ...next, chats: next.chats.filter((chat) => chat.frame.clientMsgId !== refused) },
          [{ kind: "deliver", frame }],
        ];
      }
      return [next, [{ kind: "deliver", frame }]];
    case "listener:released": {
      const mine = link.sessions.includes(frame.sessionId) && link.project !== null;
      return [
        next,
        mine
          ? [transmit(next, { type: "subscribe", sessionId: frame.sessionId, projectId: link.project as string })]
          : [],
      ];
    }
    case "session:deleted":
      return [
        { ...next, sessions: next.sessions.filter((sid) => sid !== frame.sessionId) },
        [{ kind: "deliver", frame }],
      ];
    default:
      return [next, [{ kind: "deliver", frame }]];
  }
}

function onTick(link: Link, now: number): Step {
  const late = link.chats.filter((chat) => now >= chat.deadline && link.phase !== "signed-out");
  const failed: Effect[] = late.map((chat) => ({
    kind: "failed",
    clientMsgId: chat.frame.clientMsgId,
    reason: "deadline",
  }));
  const kept = late.length > 0 ? { ...link, chats: link.chats.filter((chat) => !late.includes(chat)) } : link;
  const [next, effects] = tickLink(kept, now);
  return [next, [...failed, ...effects]];
}

function tickLink(link: Link, now: number): Step {
  if (link.phase === "connecting" && now - link.since >= CONNECT_LIMIT) {
    return [wait(link, now), [{ kind: "close", socket: link.socket }, { kind: "check-auth" }]];
  }
  if (link.phase === "waiting" && link.retryAt !== null && now >= link.retryAt) return connect(link, now);
  if (link.phase !== "open") return [link, []];
  const unanswered = link.chats.some(
    (chat) => chat.sentAt !== null && now - chat.sentAt >= ACK_LIMIT && chat.sent < TRANSMISSIONS,
  );
  if (unanswered) return renew(link, now);
  if (now - link.lastPing >= PING_EVERY) {
    if (link.probes >= MISSED_PINGS) return renew(link, now);
    return [{ ...link, lastPing: now, probes: link.probes + 1 }, [transmit(link, { type: "__ping__" })]];
  }
  return [link, []];
}

function onChat(link: Link, frame: ChatOut, now: number): Step {
  const effects: Effect[] = [];
  let chats = link.chats.filter((chat) => chat.frame.clientMsgId !== frame.clientMsgId);
  while (chats.length >= MOST_CHATS) {
    effects.push({ kind: "failed", clientMsgId: chats[0]!.frame.clientMsgId, reason: "overflow" });
    chats = chats.slice(1);
  }
  const chat: PendingChat = { frame, sent: 0, sentAt: null, deadline: now + CHAT_DEADLINE };
  const sessions = link.sessions.includes(frame.sessionId) ? link.sessions : [...link.sessions, frame.sessionId];
  const next: Link = { ...link, chats: [...chats, chat], sessions };
  if (link.phase !== "open") return [next, effects];
  if (now - link.lastInbound > FRESH_FOR) {
    const [fresh, more] = renew(next, now);
    return [fresh, [...effects, ...more]];
  }
  const sent = { ...chat, sent: 1, sentAt: now };
  return [{ ...next, chats: [...chats, sent] }, [...effects, transmit(next, frame)]];
}

function onSend(link: Link, frame: OutFrame): Step {
  if (link.phase === "open") return [link, [transmit(link, frame)]];
  if (neverQueued(frame.type)) return [link, []];
  return [{ ...link, queue: [...link.queue, frame].slice(-MOST_QUEUED) }, []];
}

function onVisible(link: Link, now: number): Step {
  const hiddenFor = link.hiddenSince === null ? 0 : now - link.hiddenSince;
  const next = { ...link, hiddenSince: null };
  if (link.phase === "waiting") return connect(next, now);
  if (link.phase === "open" && hiddenFor >= HIDDEN_LONG && now - link.lastInbound > STALE_AFTER) return renew(next, now);
  return [next, []];
}

/** One input in; the next link and the effects to run, in order. */
export function step(link: Link, input: Input): Step {
  switch (input.kind) {
    case "start": {
      // Tabs that were opened before the start are kept: they belong to the workspace that begins here.
      const next: Link = { ...link, project: input.project, attempt: 0 };
      if (link.phase === "open" || link.phase === "connecting") return renew(next, input.now);
      return connect({ ...next, downSince: input.now }, input.now);
    }
    case "stop":
      return [
        { ...lose(link, link.since), phase: "idle", project: null, retryAt: null, sessions: [], queue: [], chats: [] },
        [{ kind: "close", socket: link.socket }],
      ];
    case "opened":
      return input.socket === link.socket && link.phase === "connecting" ? onOpened(link, input.now) : [link, []];
    case "closed":
      return input.socket === link.socket ? onClosed(link, input.code, input.now) : [link, []];
    case "frame":
      return input.socket === link.socket && link.phase === "open" ? onFrame(link, input.frame, input.now) : [link, []];
    case "tick":
      return onTick(link, input.now);
    case "online": {
      const next = { ...link, online: true };
      if (link.phase === "waiting") return connect({ ...next, attempt: 0 }, input.now);
      // The old connection usually does not survive a change of network; a new one is cheap.
      return link.phase === "open" && !link.online ? renew(next, input.now) : [next, []];
    }
    case "offline":
      return [{ ...link, online: false }, []];
    case "hidden":
      return [{ ...link, hiddenSince: link.hiddenSince ?? input.now }, []];
    case "visible":
      return onVisible(link, input.now);
    case "retry":
      return link.phase === "waiting" ? connect(link, input.now) : [link, []];
    case "auth":
      if (input.signedIn || link.phase === "idle" || link.phase === "signed-out") return [link, []];
      return [
        { ...lose(link, input.now), phase: "signed-out", since: input.now, retryAt: null },
        [{ kind: "close", socket: link.socket }, { kind: "signed-out" }],
      ];
    case "signed-in": {
      if (link.phase !== "signed-out") return [link, []];
      // The time at the login page does not count: what was typed before goes out once (case X6).
      const chats = link.chats.map((chat) => ({ ...chat, deadline: input.now + CHAT_DEADLINE }));
      return connect({ ...link, chats, attempt: 0 }, input.now);
    }
    case "send":
      return onSend(link, input.frame);
    case "chat":
      return onChat(link, input.frame, input.now);
    case "forget-chat":
      return [{ ...link, chats: link.chats.filter((chat) => chat.frame.clientMsgId !== input.clientMsgId) }, []];
    case "subscribe": {
      if (link.sessions.includes(input.sessionId)) return [link, []];
      const next = { ...link, sessions: [...link.sessions, input.sessionId] };
      if (link.phase !== "open" || link.project === null) return [next, []];
      return [next, [transmit(next, { type: "subscribe", sessionId: input.sessionId, projectId: link.project })]];
    }
    case "unsubscribe": {
      if (!link.sessions.includes(input.sessionId)) return [link, []];
      const next = { ...link, sessions: link.sessions.filter((sid) => sid !== input.sessionId) };
      if (link.phase !== "open") return [next, []];
      return [next, [transmit(next, { type: "unsubscribe", sessionId: input.sessionId })]];
    }
    default:
      return assertNever(input);
  }
}

function assertNever(input: never): never {
  throw new Error(`unknown input ${JSON.stringify(input)}`);
}

/** When the next `tick` can matter, in ms; null = never. The shell sets one timer for it. */
export function wakeAt(link: Link): number | null {
  const times: number[] = [];
  if (link.phase === "connecting") times.push(link.since + CONNECT_LIMIT);
  if (link.phase === "waiting" && link.retryAt !== null) times.push(link.retryAt);
  if (link.phase === "open") {
    times.push(link.lastPing + PING_EVERY);
    for (const chat of link.chats) {
      if (chat.sentAt !== null && chat.sent < TRANSMISSIONS) times.push(chat.sentAt + ACK_LIMIT);
    }
  }
  if (link.phase !== "signed-out") for (const chat of link.chats) times.push(chat.deadline);
  return times.length > 0 ? Math.min(...times) : null;
}

export interface LinkStatus {
  phase: Phase;
  online: boolean;
  downSince: number | null;
  retryAt: number | null;
  lastInbound: number;
}

export const statusOf = (link: Link): LinkStatus => ({
  phase: link.phase,
  online: link.online,
  downSince: link.downSince,
  retryAt: link.retryAt,
  lastInbound: link.lastInbound,
});
