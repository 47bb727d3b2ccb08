/** Routes the chat asks: older windows, image uploads, the agents to choose from. */
import { ApiError, request, requestText, url } from "@/api/client";
import type { LogMessage } from "@/socket";

export interface EntryWindow {
  messages: LogMessage[];
  hasMore: boolean;
  before: number | null;
}

export const WINDOW = 200;
export const LARGEST_WINDOW = 500; // the server gives no more

/** Display rows older than entry id `before`, oldest first. */
export const olderEntries = (projectId: string, sessionId: string, before: number | null, limit = WINDOW): Promise<EntryWindow> =>
  request("GET", `/sessions/logs/${encodeURIComponent(sessionId)}/entries`, { query: { projectId, before, limit } });

/** A new session that begins with the entries up to `entryId`; its id. */
export const forkSession = async (projectId: string, sessionId: string, entryId: number): Promise<string> =>
  (await request<{ sessionId: string }>("POST", `/sessions/logs/${encodeURIComponent(sessionId)}/fork`, { body: { projectId, entryId } })).sessionId;

/** The address of a picture in the workspace. */
export const pictureUrl = (projectId: string, path: string): string => url("/files/download", { projectId, path, inline: true });

/** The same for any file, asked anew at every `opening`; `save` sends it as an attachment. */
export const mediaUrl = (projectId: string, path: string, opening: number, save = false): string =>
  url("/files/download", { projectId, path, inline: !save, opening });

const REFUSALS = new Set([400, 403, 404]);

/** Why the server does not hand a file out, in its words; null = it does. Throws ApiError when it cannot say. */
export async function refusalOf(projectId: string, path: string): Promise<string | null> {
  try {
    await requestText("/files/download", { projectId, path }, { Range: "bytes=0-0" });
  } catch (cause) {
    if (!(cause instanceof ApiError)) throw cause;
    if (REFUSALS.has(cause.status)) return cause.message;
    if (cause.status !== 416) throw cause; // 416: the file is there, and empty
  }
  return null;
}

export interface Agent {
  id: string;
  name: string;
  description?: string;
  model?: unknown;
  provider?: string;
  priority?: number;
  overridden?: boolean;
  disabled?: boolean;
  internal?: boolean;
}

/** The agents a new session may have, best first. */
export async function listAgents(projectId: string): Promise<Agent[]> {
  const { agents } = await request<{ agents: Agent[] }>("GET", "/agent-configs", { query: { projectId } });
  return agents
    .filter((agent) => !agent.disabled && !agent.internal && !agent.overridden)
    .sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0));
}

/** The model of an agent as one word: providers say it as text or as an object with an id. */
export function modelName(agent: Agent | undefined): string {
  const model = agent?.model;
  if (typeof model === "string") return model;
  if (typeof model === "object" && model !== null) {
    const id = (model as { id?: unknown; model?: unknown }).id ?? (model as { model?: unknown }).model;
    return typeof id === "string" ? id : "";
  }
  return "";
}

export function isDemo(agent: Agent | undefined): boolean {
  if (agent === undefined) return false;
  const model = agent.model;
  const provider =
    agent.provider ??
    (typeof model === "object" && model !== null ? (model as { provider?: unknown }).provider : undefined);
  return provider === "demo" || /^demo([/:-]|$)/.test(modelName(agent));
}

export interface Uploaded {
  id: string;
}

/** An image goes up before the message that names it. Throws ApiError with the server's text. */
export async function uploadImage(projectId: string, image: Blob, name: string, signal: AbortSignal): Promise<Uploaded> {
  const body = new FormData();
  body.set("projectId", projectId);
  body.set("file", image, name);
  let response: Response;
  try {
    response = await fetch(url("/sessions/uploads"), { method: "POST", credentials: "same-origin", body, signal });
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(0, cause instanceof Error ? cause.message : String(cause));
  }
  const answer = (await response.json().catch(() => ({}))) as { id?: unknown; error?: unknown };
  if (!response.ok || typeof answer.id !== "string") {
    throw new ApiError(response.status, typeof answer.error === "string" ? answer.error : `${response.status}`);
  }
  return { id: answer.id };
}
