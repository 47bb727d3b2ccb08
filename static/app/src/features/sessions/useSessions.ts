/** The sessions of a workspace, newest first, page by page; fetched again by push and after a reconnect, never by timer. */
import { useInfiniteQuery, useQueryClient, type InfiniteData } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { listSessions, type SessionPage, type SessionRow } from "@/api/sessions";
import { socket } from "@/socket";
import { flatten } from "./rows";
import { refreshNeeds } from "./useNeeds";

export const PAGE = 30;
export const MOST = 300;
const keyOf = (project: string) => ["sessions", project] as const;

export function useSessions(project: string) {
  const query = useInfiniteQuery({
    queryKey: keyOf(project),
    queryFn: ({ pageParam }) => listSessions(project, pageParam, PAGE),
    initialPageParam: null as string | null,
    getNextPageParam: (last: SessionPage, pages) => (pages.length * PAGE >= MOST ? null : last.nextCursor),
  });
  const pages = query.data?.pages;
  const rows = useMemo(() => flatten(pages ?? []), [pages]);
  return { ...query, rows, capped: rows.length >= MOST };
}

/** Keep the list fresh, shown or not: the frame, the palette and the title read it too. A burst of news is one fetch. */
export function useSessionNews(project: string): void {
  const client = useQueryClient();
  useEffect(() => {
    let timer: number | undefined;
    const refresh = () => {
      if (timer !== undefined) return;
      timer = window.setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: keyOf(project) });
        refreshNeeds(client);
      }, 150);
    };
    const stops = [
      socket.onFrame((frame) => {
        if (frame.type === "session:changed" || frame.type === "goal:changed") refresh(); // a row says whether it works for a goal
      }),
      socket.onConnected((again) => {
        if (again) refresh();
      }),
    ];
    return () => {
      window.clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, [client, project]);
}

/**
 * Rows changed here and stored by the server: shown at once. A fetch that began before the change would bring the old
 * rows back, so it is dropped; the next one tells the truth.
 */
export function usePatchRows(project: string) {
  const client = useQueryClient();
  return async (change: (rows: SessionRow[]) => SessionRow[]): Promise<void> => {
    await client.cancelQueries({ queryKey: keyOf(project) });
    client.setQueryData<InfiniteData<SessionPage, string | null>>(keyOf(project), (old) =>
      old ? { ...old, pages: old.pages.map((page) => ({ ...page, sessions: change(page.sessions) })) } : old,
    );
    void client.invalidateQueries({ queryKey: keyOf(project) });
  };
}
