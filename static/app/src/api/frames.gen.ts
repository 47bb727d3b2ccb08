// Made by scripts/gen_frames.py from the events.py of our apps. Do not edit.

export interface ChatThinking {
  type: "chat:thinking";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  text: string;
  agentName: string;
  turnId: string;
}

export interface ChatStream {
  type: "chat:stream";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  text: string;
  agentName: string;
  turnId: string;
}

export interface ToolCallStarted {
  type: "agent:tool_call";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  tool: string;
  toolUseId: string;
  input: Record<string, unknown>;
  agentName: string;
  turnId: string;
}

export interface ToolOutput {
  type: "agent:tool_output";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  toolUseId: string;
  text: string;
  dropped: number;
}

export interface ToolResultArrived {
  type: "agent:tool_result";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  result: string;
  toolUseId: string;
  agentName: string;
  durationMs?: number;
}

export interface ChatUsage {
  type: "chat:usage";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  contextTokens: number;
  outputTokens: number;
  turnId?: string;
  modelId?: string;
  usage?: Record<string, unknown>;
  costMicros?: number;
  currency?: string;
}

export interface ChatFollowup {
  type: "chat:followup";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  agentName: string;
}

export interface ChatComplete {
  type: "chat:complete";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
}

export interface ChatSystem {
  type: "chat:system";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  text: string;
  agentName?: string;
  code?: string;
}

export interface StreamReset {
  type: "stream_reset";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  turnId: string;
}

export interface RunError {
  type: "error";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  error: string;
  code?: string;
  agentName?: string;
}

export interface CompactStarted {
  type: "compact:started";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
}

export interface CompactSummarizing {
  type: "compact:summarizing";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
}

export interface CompactDone {
  type: "compact:done";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
}

export interface SessionCompacted {
  type: "session:compacted";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  contextTokens: number;
  message?: string;
}

export interface AgentContext {
  type: "agent:context";
  sessionId: string;
  taskId?: string;
  seq?: number;
  prev?: number;
  replay?: boolean;
  agentName: string;
  systemPrompt: string;
}

export interface ChatUser {
  type: "chat:user";
  sessionId: string;
  taskId?: string;
  text: string;
  entryId: number;
  clientMsgId?: string;
  origin?: Record<string, unknown>;
}

export interface QueueChanged {
  type: "queue:changed";
  sessionId: string;
  taskId?: string;
  items: Record<string, unknown>[];
  removed?: number[];
}

export interface AgentStarted {
  type: "agent:start";
  sessionId: string;
  taskId?: string;
  agentName: string;
  task: string;
}

export interface AgentDone {
  type: "agent:done";
  sessionId: string;
  taskId?: string;
  agentName: string;
}

export interface ChatStopped {
  type: "chat:stopped";
  sessionId: string;
  taskId?: string;
}

export interface SessionDeleted {
  type: "session:deleted";
  sessionId: string;
  taskId?: string;
}

export interface Resync {
  type: "resync";
  sessionId: string;
  taskId?: string;
  reason: string;
}

export interface GoalChanged {
  type: "goal:changed";
  workspacePath: string;
  goalSessionId: string;
  workerSessionId: string;
  status: string;
  round: number;
  maxRounds: number;
}

export interface SessionChanged {
  type: "session:changed";
  workspacePath: string;
  sessionId: string;
}

export interface FileChanged {
  type: "file:changed";
  path: string;
  action: "add" | "change" | "unlink" | "addDir" | "unlinkDir";
}

export interface GitProgress {
  type: "git:progress";
  workspacePath: string;
  action: "push" | "pull";
  stage: string;
  percent?: number;
  done?: boolean;
}

export interface FilesResync {
  type: "files:resync";
  workspacePath: string;
}

export interface FilesWatching {
  type: "files:watching";
  workspacePath: string;
  mode: "native" | "polling" | "off";
  reason?: string;
}

export interface TerminalReady {
  type: "terminal:ready";
  terminalId: string;
}

export interface TerminalOutput {
  type: "terminal:output";
  terminalId: string;
  data: string;
}

export interface TerminalExit {
  type: "terminal:exit";
  terminalId: string;
  exitCode: number;
}

export interface TerminalReattached {
  type: "terminal:reattached";
  terminalIds: string[];
}

export interface TerminalList {
  type: "terminal:list";
  terminals: Record<string, unknown>[];
}

export interface SettingsChanged {
  type: "settings:changed";
  scope: string;
  projectId?: string;
}

export interface AgentsChanged {
  type: "agents:changed";
  scope: string;
  projectId?: string;
}

export interface SkillsChanged {
  type: "skills:changed";
  scope: string;
  projectId?: string;
}

export interface ExtensionChanged {
  type: "extension:changed";
  extensions: Record<string, unknown>[];
  errors: Record<string, string>[];
  isolation: string;
}

export type SessionEventFrame =
  | ChatThinking
  | ChatStream
  | ToolCallStarted
  | ToolOutput
  | ToolResultArrived
  | ChatUsage
  | ChatFollowup
  | ChatComplete
  | ChatSystem
  | StreamReset
  | RunError
  | CompactStarted
  | CompactSummarizing
  | CompactDone
  | SessionCompacted
  | AgentContext
  | ChatUser
  | QueueChanged
  | AgentStarted
  | AgentDone
  | ChatStopped
  | SessionDeleted
  | Resync
  | GoalChanged
  | SessionChanged
  | FileChanged
  | GitProgress
  | FilesResync
  | FilesWatching
  | TerminalReady
  | TerminalOutput
  | TerminalExit
  | TerminalReattached
  | TerminalList
  | SettingsChanged
  | AgentsChanged
  | SkillsChanged
  | ExtensionChanged;
