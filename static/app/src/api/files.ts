import { request } from "./client";
import type { components } from "./schema.gen";

type Schemas = components["schemas"];
export type Match = Schemas["MatchOut"];

/** Files and folders whose path holds `q`, best first. */
export const searchFiles = async (projectId: string, q: string, limit: number, dirsOnly: boolean, signal: AbortSignal) =>
  (await request<Schemas["MatchesOut"]>("GET", "/files/search", { query: { projectId, q, limit, dirsOnly }, signal })).matches;
