import { request } from "./client";
import type { components } from "./schema.gen";

export type Dispatch = components["schemas"]["DispatchOut"];

/** Tasks handed from or to this workspace whose report is still owed, newest first. */
export const listOpenDispatches = async (projectId: string): Promise<Dispatch[]> =>
  (await request<components["schemas"]["DispatchesOut"]>("GET", "/relay/dispatches", { query: { projectId, open: true } })).dispatches;

export const DISPATCH_PAGE = 100;

/** Those of 30 days, newest first, `DISPATCH_PAGE` at a time; `before`: the last id of the page above. */
export const listDispatches = async (projectId: string, before: number | null): Promise<Dispatch[]> =>
  (await request<components["schemas"]["DispatchesOut"]>("GET", "/relay/dispatches", { query: { projectId, before } })).dispatches;

export const cancelDispatch = (projectId: string, id: number): Promise<Dispatch> =>
  request("POST", `/relay/dispatches/${id}/cancel`, { body: { projectId } });
