/** What the open turn shows: text, thinking, tool calls and usage, block by block as they arrive. Pure. */
import type { Frame, WireUsage } from "@/socket/frames";
import { textKey } from "./log";
import type { Item, ToolItem, View } from "./model";

const TAIL_LINES = 200;
const TAIL_CHARS = 65_536;

const isBlock = (item: Item): item is Extract<Item, { turnId: string }> =>
  item.kind === "text" || item.kind === "thinking" || item.kind === "tool";

/** Place of the newest block of a model call: notices and messages may have come in between. */
function lastBlock(live: readonly Item[], turnId: string): number {
  for (let place = live.length - 1; place >= 0; place -= 1) {
    const item = live[place]!;
    if (isBlock(item) && item.turnId === turnId) return place;
  }
  return -1;
}

const blocksOf = (live: readonly Item[], turnId: string): number =>
  live.reduce((count, item) => (isBlock(item) && item.turnId === turnId ? count + 1 : count), 0);

function replaced(items: readonly Item[], place: number, item: Item): Item[] {
  const next = [...items];
  next[place] = item;
  return next;
}

export function endThinking(view: View, now: number): View {
  if (!view.live.some((item) => item.kind === "thinking" && item.open)) return view;
  return {
    ...view,
    live: view.live.map((item) =>
      item.kind === "thinking" && item.open ? { ...item, open: false, ms: now - item.at } : item,
    ),
  };
}

export function delta(view: View, kind: "text" | "thinking", turnId: string, text: string, agentName: string, now: number): View {
  const place = lastBlock(view.live, turnId);
  const last = view.live[place];
  if (last?.kind === kind) {
    return { ...view, live: replaced(view.live, place, { ...last, text: last.text + text }) };
  }
  const settled = kind === "text" ? endThinking(view, now) : view;
  const key = textKey(kind, turnId, blocksOf(settled.live, turnId));
  const item: Item =
    kind === "text"
      ? { kind, key, at: now, turnId, text, agentName }
      : { kind, key, at: now, turnId, text, ms: null, open: true };
  return { ...settled, agentName: agentName || view.agentName, live: [...settled.live, item] };
}

export function toolCall(view: View, frame: Extract<Frame, { type: "agent:tool_call" }>, now: number): View {
  if (view.live.some((item) => item.kind === "tool" && item.toolUseId === frame.toolUseId)) return view;
  const tool: ToolItem = {
    kind: "tool",
    key: `tool:${frame.toolUseId}`,
    at: now,
    turnId: frame.turnId,
    toolUseId: frame.toolUseId,
    name: frame.tool,
    input: frame.input ?? {},
    output: null,
    tail: "",
    dropped: 0,
    ms: null,
  };
  const settled = endThinking(view, now);
  return { ...settled, live: [...settled.live, tool] };
}

/** Live output keeps its end: the last lines are what a person looks at, and memory stays bounded. */
export function grow(tool: ToolItem, text: string, dropped: number): Pick<ToolItem, "tail" | "dropped"> {
  let tail = tool.tail + text;
  if (tail.length > TAIL_CHARS) tail = tail.slice(-TAIL_CHARS);
  const lines = tail.split("\n");
  if (lines.length > TAIL_LINES) tail = lines.slice(-TAIL_LINES).join("\n");
  return { tail, dropped: tool.dropped + dropped };
}

export function mapTool(view: View, toolUseId: string, change: (tool: ToolItem) => ToolItem): View {
  for (let place = view.live.length - 1; place >= 0; place -= 1) {
    const item = view.live[place]!;
    if (item.kind === "tool" && item.toolUseId === toolUseId) {
      return { ...view, live: replaced(view.live, place, change(item)) };
    }
  }
  return view;
}

export function toolResult(view: View, toolUseId: string | undefined, result: string, ms: number | null): View {
  const place = view.live.findIndex(
    (item) => item.kind === "tool" && (toolUseId ? item.toolUseId === toolUseId : item.output === null),
  );
  const tool = view.live[place];
  // A finished call is never overwritten.
  if (tool?.kind !== "tool" || tool.output !== null) return view;
  return { ...view, live: replaced(view.live, place, { ...tool, output: result, ms }) };
}

export function usage(view: View, frame: Extract<Frame, { type: "chat:usage" }>, now: number): View {
  const counted: View = { ...view, contextTokens: frame.contextTokens, outputTokens: frame.outputTokens };
  if (!frame.turnId || !frame.usage) return counted;
  const turnId = frame.turnId;
  const wire = frame.usage as unknown as WireUsage;
  const item: Item = {
    kind: "usage",
    key: `usage:${turnId}`,
    at: now,
    turnId,
    usage: wire,
    modelId: frame.modelId,
    costMicros: frame.costMicros,
    currency: frame.currency,
  };
  const known = view.live.findIndex((other) => other.kind === "usage" && other.turnId === turnId);
  if (known >= 0) return { ...counted, live: replaced(view.live, known, item) };
  return {
    ...counted,
    live: [...view.live, item],
    runOutput: view.runOutput + (wire.outputTokens ?? 0),
    runCost: frame.costMicros === undefined ? view.runCost : (view.runCost ?? 0) + frame.costMicros,
    currency: frame.currency ?? view.currency,
  };
}

export function settle(view: View, now: number): View {
  const ended = endThinking(view, now);
  return ended.live.length > 0 ? { ...ended, past: [...ended.past, ...ended.live], live: [] } : ended;
}

export function dropsOnReset(item: Item, turnId: string): boolean {
  if (item.kind === "text" || item.kind === "thinking") return item.turnId === turnId;
  return item.kind === "tool" && item.turnId === turnId && item.output === null;
}
