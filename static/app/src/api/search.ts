import { request } from "./client";
import type { components } from "./schema.gen";

export type Hit = components["schemas"]["HitOut"];
export type Hits = components["schemas"]["HitsOut"];

/** Longest question the server takes, in characters. */
export const LONGEST = 200;

export interface Where {
  /** Null = all workspaces of the person. */
  projectId: string | null;
  includeArchived?: boolean;
}

/** Messages that hold every word, newest first. `before`: where the last page ended. */
export const searchSessions = (q: string, where: Where, before: number | null, limit: number, signal?: AbortSignal): Promise<Hits> =>
  request("GET", "/sessions/search", {
    query: { q, projectId: where.projectId, includeArchived: where.includeArchived ?? false, before, limit },
    ...(signal ? { signal } : {}),
  });
