/**
 * Every frame of the socket. Session frames come from the server's event classes (`@/api/frames.gen`); what only the
 * hub answers, and what a client may send, is typed here. Source: spec ws-protocol, "Wire formats".
 */
import type { SessionEventFrame } from "../api/frames.gen";

/** The session a fork began as a copy of. */
export interface ForkSource {
  session: string;
  entry: number;
  title: string | null;
}

export interface QueueItem {
  entryId: number;
  text: string;
  origin?: string; // kind of the sender: person, channel, agent …
}

export interface WireUsage {
  inputTokens: number;
  outputTokens: number;
  totalTokens?: number;
  cacheReadInputTokens?: number;
  cacheWriteInputTokens?: number;
  ttftMs?: number;
  e2eMs?: number;
  thinkingEffort?: string;
}

export interface WireToolCall {
  name: string;
  input: Record<string, unknown>;
  output?: string;
  durationMs?: number;
  toolUseId?: string;
}

export type WireBlock =
  | { type: "text"; text: string; turnId?: string }
  | { type: "thinking"; text: string; turnId?: string }
  | { type: "tool_call"; toolCall: WireToolCall; turnId?: string };

/** One row of the log as snapshots and windows give it (spec ws-protocol, "Log message"). */
export interface LogMessage {
  id: string | number;
  entryId?: number;
  type?: string;
  role?: "user" | "assistant" | "system";
  content?: string;
  timestamp?: number;
  agentName?: string;
  taskId?: string;
  contentBlocks?: WireBlock[];
  toolName?: string;
  toolInput?: Record<string, unknown>;
  toolOutput?: string;
  toolUseId?: string;
  durationMs?: number;
  turnId?: string;
  usage?: WireUsage;
  modelId?: string;
  costMicros?: number;
  currency?: string;
  deleted?: boolean | number;
  clientMsgId?: string;
  origin?: Record<string, unknown> | null;
  images?: { upload?: string | null; path?: string | null; mimeType?: string }[];
  level?: string;
  code?: string;
  partial?: boolean;
  fork?: ForkSource;
}

export interface Snapshot {
  recentMessages: LogMessage[];
  sessionId?: string;
  agentId?: string;
  agentName?: string;
  maxContextTokens?: number;
  archiveCount?: number;
  hasMore?: boolean;
  before?: number | null;
  seq?: number;
  running?: boolean;
  compacting?: boolean;
  queue?: QueueItem[];
  startedAt?: number | null;
  activity?: string;
  archivedAt?: number | null;
  activeAgents?: { agentName: string; taskId: string }[];
}

export type HubFrame =
  | { type: "state:snapshot"; snapshot: Snapshot }
  | { type: "chat:ack"; clientMsgId: string; entryId: number }
  | { type: "chat:queued"; sessionId: string; reason: "busy" | "compact"; message?: string }
  | { type: "session:cleared"; sessionId: string }
  | { type: "session:switched"; sessionId: string }
  | { type: "session:changed"; workspacePath?: string; sessionId?: string }
  | { type: "session:compacted"; sessionId: string; contextTokens?: number; message?: string }
  | { type: "compact:started" | "compact:summarizing" | "compact:done"; sessionId: string }
  | { type: "workspace:switched"; path: string }
  | { type: "agent:start"; sessionId: string; agentName: string; task?: string; taskId?: string }
  | { type: "agent:done"; sessionId: string; agentName: string; taskId?: string }
  | { type: "listener:released"; sessionId: string }
  | { type: "settings:changed"; scope?: string }
  | { type: "error"; error: string; code?: string; sessionId?: string; taskId?: string; clientMsgId?: string; terminalId?: string; seq?: number }
  | { type: "__pong__" };

export type Frame = SessionEventFrame | HubFrame;

export interface ChatOut {
  type: "chat";
  sessionId: string;
  projectId: string;
  message: string;
  agentId?: string;
  clientMsgId: string;
  images?: { id: string }[];
}

export type OutFrame =
  | ChatOut
  | { type: "subscribe"; sessionId?: string; projectId?: string }
  | { type: "unsubscribe"; sessionId: string }
  | { type: "chat:stop" | "chat:interrupt" | "session:clear"; sessionId: string }
  | { type: "session:delete"; sessionId: string; projectId: string }
  | { type: "exchange:delete" | "exchange:restore"; sessionId: string; entryId: number; projectId: string }
  | { type: "queue:edit"; sessionId: string; entryId: number; text: string }
  | { type: "queue:remove"; sessionId: string; entryId: number }
  | { type: "queue:move"; sessionId: string; entryId: number; before: number | null }
  | { type: "session:seen"; sessionId: string; seq: number }
  | { type: `command:${string}`; message?: string; sessionId?: string; projectId?: string; agentId?: string; lang?: "en" | "zh" }
  | { type: `terminal:${string}`; terminalId?: string; [field: string]: unknown }
  | { type: "__ping__" };

/** A frame from the wire, or null when it is not an object with a string `type` (ignored, spec spa 5). */
export function parseFrame(data: unknown): Frame | null {
  if (typeof data !== "string") return null;
  try {
    const value: unknown = JSON.parse(data);
    if (typeof value === "object" && value !== null && typeof (value as { type?: unknown }).type === "string") {
      return value as Frame;
    }
  } catch {
    return null;
  }
  return null;
}
