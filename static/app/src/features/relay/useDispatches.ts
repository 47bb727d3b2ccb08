/** Tasks of a workspace; fetched again when a session changed, never by timer. */
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { DISPATCH_PAGE, listDispatches, listOpenDispatches, type Dispatch } from "@/api/relay";
import { socket } from "@/socket";

const PAUSE = 300; // ms; a burst of news is one fetch
const keyOf = (project: string) => ["dispatches", project] as const;

/** Keep all lists of a workspace's tasks fresh while one is shown. Returns the way to ask for them now. */
function useNews(project: string): () => Promise<void> {
  const client = useQueryClient();
  useEffect(() => {
    let timer: number | undefined;
    const refresh = () => {
      timer ??= window.setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({ queryKey: keyOf(project) });
      }, PAUSE);
    };
    const stops = [
      socket.onFrame((frame) => {
        if (frame.type === "session:changed") refresh();
      }),
      socket.onConnected(refresh),
    ];
    return () => {
      window.clearTimeout(timer);
      stops.forEach((stop) => stop());
    };
  }, [client, project]);
  return () => client.invalidateQueries({ queryKey: keyOf(project) });
}

const NONE: readonly Dispatch[] = [];

/** Those whose report is owed. */
export function useDispatches(project: string) {
  const refresh = useNews(project);
  const query = useQuery({ queryKey: [...keyOf(project), "open"], queryFn: () => listOpenDispatches(project) });
  return { rows: query.data ?? NONE, refresh };
}

/** Closed ones too, page by page. Beside `useDispatches`, which brings the news. */
export function useAllDispatches(project: string) {
  const query = useInfiniteQuery({
    queryKey: [...keyOf(project), "all"],
    queryFn: ({ pageParam }) => listDispatches(project, pageParam),
    initialPageParam: null as number | null,
    getNextPageParam: (last: Dispatch[]) => (last.length < DISPATCH_PAGE ? null : (last.at(-1)?.id ?? null)),
  });
  const pages = query.data?.pages;
  const rows = useMemo(() => pages?.flat() ?? NONE, [pages]);
  return { ...query, rows };
}
