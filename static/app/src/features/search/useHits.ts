/** Hits of the server, page by page. Typing is waited for; an answer that is no longer asked for is dropped. */
import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";

import { LONGEST, searchSessions, type Hits, type Where } from "@/api/search";
import { termsOf } from "./hits";

const PAUSE = 200; // ms without a key
const FRESH = 5000; // ms in which the same question is not asked again

function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = window.setTimeout(() => setPaused(text), PAUSE);
    return () => window.clearTimeout(timer);
  }, [text]);
  return paused;
}

/** `asked`: the question that the rows answer; empty = nothing to search for yet. */
export function useHits(text: string, where: Where, limit: number) {
  const asked = usePaused(text.trim().slice(0, LONGEST));
  const terms = useMemo(() => termsOf(asked), [asked]);
  const query = useInfiniteQuery({
    queryKey: ["search", asked, where.projectId, where.includeArchived ?? false, limit] as const,
    queryFn: ({ pageParam, signal }) => searchSessions(asked, where, pageParam, limit, signal),
    initialPageParam: null as number | null,
    getNextPageParam: (last: Hits) => (last.hasMore ? last.before : null),
    enabled: terms.length > 0,
    staleTime: FRESH,
    placeholderData: keepPreviousData,
  });
  const pages = terms.length > 0 ? query.data?.pages : undefined;
  const hits = useMemo(() => pages?.flatMap((page) => page.hits) ?? [], [pages]);
  return { ...query, hits, terms, asked: terms.length > 0 ? asked : "" };
}
