/**
 * What the browser knows of one session. A log is a flat list of items: one per message, block, tool call or notice.
 * `past` is settled, `live` belongs to the open turn; the same turn gives the same items whether it was watched live,
 * replayed or read from a snapshot (keys are made of turn ids and places, never of arrival).
 */
import type { ForkSource, QueueItem, WireUsage } from "@/socket/frames";

interface Base {
  key: string;
  at: number; // ms
  entryId?: number;
  deleted?: boolean;
}

export interface LocalImage {
  id: string; // of the upload
  url: string; // object URL, lives as long as the page
}

export interface UserItem extends Base {
  kind: "user";
  text: string;
  /** sending: no ack yet; failed: the server never confirmed it, or refused it. */
  state: "sent" | "sending" | "failed";
  clientMsgId?: string;
  images?: readonly LocalImage[]; // only in the page that sent them
  files?: readonly string[]; // paths of the stored pictures
  origin?: Record<string, unknown> | null;
  reason?: string; // why it failed, in the server's words
}

export interface TextItem extends Base {
  kind: "text";
  turnId: string;
  text: string;
  agentName?: string;
}

export interface ThinkingItem extends Base {
  kind: "thinking";
  turnId: string;
  text: string;
  ms: number | null; // how long it thought; null = unknown or not over
  open: boolean;
}

export interface ToolItem extends Base {
  kind: "tool";
  turnId: string;
  toolUseId: string;
  name: string;
  input: Record<string, unknown>;
  output: string | null; // null = still at work, or never answered
  tail: string; // live output of a running command
  dropped: number; // characters of live output that were left out
  ms: number | null;
}

export interface UsageItem extends Base {
  kind: "usage";
  turnId: string;
  usage: WireUsage;
  modelId?: string;
  costMicros?: number; // absent = unknown
  currency?: string;
}

export interface NoticeItem extends Base {
  kind: "notice";
  level: "system" | "error" | "stopped";
  text: string;
  code?: string;
  ms?: number; // stopped: after how long
  fork?: ForkSource; // what stands above was copied from there
}

export interface SummaryItem extends Base {
  kind: "summary";
  text: string;
}

export type Item = UserItem | TextItem | ThinkingItem | ToolItem | UsageItem | NoticeItem | SummaryItem;

export interface AgentAtWork {
  taskId: string;
  name: string;
  task: string; // what it was asked, in a few words
  act: string; // the tool it uses, empty while it thinks
  since: number;
  done: boolean;
}

/** A slash command that the server has not answered yet. */
export interface Executing {
  key: string;
  line: string; // as it was typed
}

export interface View {
  sessionId: string;
  agentId: string | null;
  agentName: string;
  loaded: boolean; // a snapshot of exactly this session has arrived
  past: readonly Item[];
  live: readonly Item[];
  settled: readonly Item[]; // the log of the last snapshot: where a replay starts
  pending: readonly UserItem[]; // sent from here, not yet in log or queue
  executing: readonly Executing[]; // only in this page, oldest first
  queue: readonly QueueItem[];
  removed: readonly number[]; // entry ids whose removal from the queue was asked for here
  waited: readonly number[]; // queue entries that a busy agent let wait
  readIds: readonly number[]; // those of them the agent has just taken
  running: boolean;
  awaiting: boolean; // accepted, nothing came back yet
  between: boolean; // a round is over and something is queued: the next round is expected
  compacting: boolean;
  startedAt: number | null;
  endedAt: number | null;
  runOutput: number; // tokens written since the run began
  runCost: number | null; // micros; null = nothing with a known price yet
  currency: string;
  contextTokens: number;
  outputTokens: number;
  maxContextTokens: number;
  hasMore: boolean;
  before: number | null;
  seq: number;
  unseen: boolean;
  failed: boolean; // the last run ended with an error
  archived: boolean;
  resyncing: number | null; // ms since when the server has promised a fresh snapshot
  agents: readonly AgentAtWork[];
}

export function newView(sessionId: string): View {
  return {
    sessionId,
    agentId: null,
    agentName: "",
    loaded: false,
    past: [],
    live: [],
    settled: [],
    pending: [],
    executing: [],
    queue: [],
    removed: [],
    waited: [],
    readIds: [],
    running: false,
    awaiting: false,
    between: false,
    compacting: false,
    startedAt: null,
    endedAt: null,
    runOutput: 0,
    runCost: null,
    currency: "",
    contextTokens: 0,
    outputTokens: 0,
    maxContextTokens: 0,
    hasMore: false,
    before: null,
    seq: 0,
    unseen: false,
    failed: false,
    archived: false,
    resyncing: null,
    agents: [],
  };
}

export const busy = (view: View): boolean => view.running || view.awaiting || view.compacting;
