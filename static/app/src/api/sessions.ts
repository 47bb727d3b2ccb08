import { currentLanguage } from "@/shared/i18n";
import { request, requestText, url } from "./client";
import type { components } from "./schema.gen";

export type SessionRow = components["schemas"]["SessionRow"];

export type Need = components["schemas"]["NeedOut"];

export interface SessionPage {
  sessions: SessionRow[];
  nextCursor: string | null;
}

export const listSessions = (projectId: string, cursor: string | null, limit = 30) =>
  request<SessionPage>("GET", "/sessions/logs", { query: { projectId, rootOnly: true, includeArchived: true, cursor, limit } });

/** The goal of a workspace: the newest, unless it was cleared or goal mode is off. */
export const getGoal = async (projectId: string): Promise<components["schemas"]["GoalOut"] | null> =>
  (await request<components["schemas"]["SeedOut"]>("GET", "/sessions/goal", { query: { projectId } })).goal;

export const listNeeds = async () => (await request<components["schemas"]["NeedsOut"]>("GET", "/needs")).needs;

export const renameSession = (projectId: string, id: string, title: string) =>
  request<{ ok: true }>("PATCH", `/sessions/logs/${encodeURIComponent(id)}`, { query: { projectId }, body: { title } });

export const deleteSession = (projectId: string, id: string) =>
  request<{ ok: true; deleted: number }>("DELETE", `/sessions/logs/${encodeURIComponent(id)}`, { query: { projectId } });

const exportOf = (projectId: string, id: string) =>
  [`/sessions/logs/${encodeURIComponent(id)}/export`, { projectId, lang: currentLanguage().slice(0, 2) }] as const;

/** The whole session as a Markdown document. */
export const readMarkdown = (projectId: string, id: string): Promise<string> => requestText(...exportOf(projectId, id));

/** Where the browser downloads the same. */
export const markdownUrl = (projectId: string, id: string): string => url(...exportOf(projectId, id));
