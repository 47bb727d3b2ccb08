/** What waits for this person in all workspaces; fetched by push, on looking at it and on coming back, never by timer. */
import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { listNeeds, type Need } from "@/api/sessions";

const KEY = ["needs"] as const;

export const refreshNeeds = (client: QueryClient): void => void client.invalidateQueries({ queryKey: KEY });

const NONE: readonly Need[] = [];

export const useNeeds = (): readonly Need[] => useQuery({ queryKey: KEY, queryFn: listNeeds }).data ?? NONE;

/** While a list of them is on screen: news of other workspaces are not pushed here. */
export function useFreshNeeds(): void {
  const client = useQueryClient();
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && refreshNeeds(client);
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [client]);
}
