/** Sub-agents at work, as the log of a session above them shows them. Pure. */
import type { Frame, Snapshot } from "@/socket/frames";
import type { AgentAtWork, View } from "./model";
import type { Local } from "./reducer";

/** A row keeps its place whatever it does. */
export function reduceAgents(view: View, frame: Frame | Local, now: number): View {
  const taskId = (frame as { taskId: string }).taskId;
  const known = view.agents.find((agent) => agent.taskId === taskId);
  const put = (agent: AgentAtWork): View => ({
    ...view,
    agents: known ? view.agents.map((one) => (one === known ? agent : one)) : [...view.agents, agent],
  });
  if (frame.type === "agent:start") {
    return put({ taskId, name: frame.agentName, task: frame.task ?? "", act: "", since: now, done: false });
  }
  if (!known) return view;
  if (frame.type === "agent:done") return put({ ...known, act: "", done: true });
  if (frame.type === "agent:tool_call") return put({ ...known, act: frame.tool, done: false });
  return view;
}

/** Those a snapshot names; what only this page saw of them (task, since when) stays. */
export function agentsOf(snapshot: Snapshot, known: readonly AgentAtWork[], now: number): AgentAtWork[] {
  return (snapshot.activeAgents ?? []).map((agent) => {
    const mine = known.find((one) => one.taskId === agent.taskId);
    return mine ? { ...mine, done: false } : { taskId: agent.taskId, name: agent.agentName, task: "", act: "", since: now, done: false };
  });
}
