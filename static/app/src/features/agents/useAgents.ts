/** Agents of both scopes. Looked at again when the page comes into view: files of the server's own change silently. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { listAgentRows, listTools } from "@/api/agents";
import { refreshAgents } from "@/shell/chatPort";
import { socket } from "@/socket";
import { isNewsOf } from "@/socket/itemNews";

export function useAgents(project: string) {
  const refresh = useRefresh();
  useEffect(() => socket.onFrame((frame) => {
    if (isNewsOf("agents", frame)) void refresh();
  }), []);
  return useQuery({ queryKey: ["agents", project], queryFn: () => listAgentRows(project), refetchOnWindowFocus: "always", refetchOnMount: "always" });
}

export const useTools = () => useQuery({ queryKey: ["agent-tools"], queryFn: listTools });

/** After a change: every view that shows agents looks again, the chat's picker too. */
export function useRefresh() {
  const client = useQueryClient();
  return async (): Promise<void> => {
    await Promise.all([["agents"], ["agent"], ["providers"], ["settings"]].map((queryKey) => client.invalidateQueries({ queryKey })));
    await refreshAgents();
  };
}
