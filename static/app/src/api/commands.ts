import { request } from "./client";
import type { components } from "./schema.gen";

type Schemas = components["schemas"];
export type Command = Schemas["CommandOut"];

/** What can be typed behind a slash: built-in commands, and skills of the session's agent. */
export const listCommands = async (projectId: string, sessionId: string | null, agentId: string | null, lang: string, signal: AbortSignal) =>
  (await request<Schemas["CommandsOut"]>("GET", "/commands", { query: { projectId, sessionId, agentId, lang }, signal })).commands;
