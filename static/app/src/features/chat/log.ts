/** Rows of snapshots and windows -> items. Pure. Source: spec ws-protocol "Log message", spa 2.2. */
import type { LogMessage, WireBlock } from "@/socket/frames";
import type { Item, UserItem } from "./model";

/** First line of a summary that stands for older messages; its number of messages. */
export const SUMMARY = /^\[Conversation Summary — (\d+) messages? compacted(?: \(local fallback\))?\]\n/;

type RowType = "user" | "assistant" | "tool_call" | "tool_result" | "usage" | "context" | "notification" | "other";

/** Old logs carry no `type`: it is read from what else is there. */
function typeOf(row: LogMessage): RowType {
  switch (row.type) {
    case "user":
    case "assistant":
    case "tool_call":
    case "tool_result":
    case "usage":
    case "context":
    case "notification":
      return row.type;
    case undefined:
      break;
    default:
      return "other";
  }
  if (row.role === "user" || row.role === "assistant") return row.role;
  if (row.toolOutput !== undefined) return "tool_result";
  if (row.toolName) return "tool_call";
  if (row.usage) return "usage";
  return "notification";
}

export const textKey = (kind: "text" | "thinking", turnId: string, place: number): string => `${kind}:${turnId}:${place}`;

function blockItems(row: LogMessage, blocks: readonly WireBlock[]): Item[] {
  const at = row.timestamp ?? 0;
  const places = new Map<string, number>();
  return blocks.map((block): Item => {
    const turnId = block.turnId ?? row.turnId ?? String(row.id);
    const place = places.get(turnId) ?? 0;
    places.set(turnId, place + 1);
    const base = { at, entryId: row.entryId, deleted: Boolean(row.deleted) };
    if (block.type === "tool_call") {
      const call = block.toolCall;
      const toolUseId = call.toolUseId ?? `${turnId}:${place}`;
      return {
        ...base,
        kind: "tool",
        key: `tool:${toolUseId}`,
        turnId,
        toolUseId,
        name: call.name,
        input: call.input ?? {},
        output: call.output ?? null,
        tail: "",
        dropped: 0,
        ms: call.durationMs ?? null,
      };
    }
    if (block.type === "thinking") {
      return { ...base, kind: "thinking", key: textKey("thinking", turnId, place), turnId, text: block.text, ms: null, open: false };
    }
    return { ...base, kind: "text", key: textKey("text", turnId, place), turnId, text: block.text, agentName: row.agentName };
  });
}

function usageItem(row: LogMessage): Item[] {
  if (!row.usage) return [];
  const turnId = row.turnId ?? String(row.id);
  return [
    {
      kind: "usage",
      key: `usage:${turnId}`,
      at: row.timestamp ?? 0,
      entryId: row.entryId,
      deleted: Boolean(row.deleted),
      turnId,
      usage: row.usage,
      modelId: row.modelId,
      costMicros: row.costMicros,
      currency: row.currency,
    },
  ];
}

export function userItem(row: LogMessage): Item {
  const text = row.content ?? "";
  const key = row.entryId !== undefined ? `user:${row.entryId}` : `user:${row.id}`;
  const base = { key, at: row.timestamp ?? 0, entryId: row.entryId, deleted: Boolean(row.deleted) };
  if (SUMMARY.test(text)) return { ...base, kind: "summary", text };
  const item: UserItem = { ...base, kind: "user", text, state: "sent", origin: row.origin ?? null };
  const files = (row.images ?? []).map((image) => image.path ?? "").filter(Boolean);
  if (files.length > 0) item.files = files;
  if (row.clientMsgId) item.clientMsgId = row.clientMsgId;
  return item;
}

/** A result row of its own (old logs): goes to its call, else to the first one without an answer. */
function attachResult(items: Item[], row: LogMessage): void {
  const open = items.findIndex(
    (item) =>
      item.kind === "tool" && item.output === null && (row.toolUseId === undefined || item.toolUseId === row.toolUseId),
  );
  const call = items[open];
  if (call?.kind === "tool") items[open] = { ...call, output: row.toolOutput ?? row.content ?? "", ms: row.durationMs ?? null };
}

/** Items of a window, oldest first. Rows of sub-agents (`taskId`) belong to their own session's log. */
export function itemsOf(rows: readonly LogMessage[]): Item[] {
  const items: Item[] = [];
  for (const row of rows) {
    if (row.taskId) continue;
    switch (typeOf(row)) {
      case "user":
        items.push(userItem(row));
        break;
      case "assistant": {
        const blocks: WireBlock[] =
          row.contentBlocks ?? (row.content ? [{ type: "text", text: row.content, turnId: row.turnId }] : []);
        items.push(...blockItems(row, blocks), ...usageItem(row));
        break;
      }
      case "tool_call":
        items.push(
          ...blockItems(row, [
            {
              type: "tool_call",
              turnId: row.turnId,
              toolCall: { name: row.toolName ?? "", input: row.toolInput ?? {}, toolUseId: row.toolUseId },
            },
          ]),
        );
        break;
      case "tool_result":
        attachResult(items, row);
        break;
      case "usage":
        items.push(...usageItem(row));
        break;
      case "notification":
        items.push({
          kind: "notice",
          key: `notice:${row.entryId ?? row.id}`,
          at: row.timestamp ?? 0,
          entryId: row.entryId,
          deleted: Boolean(row.deleted),
          level: row.code === "stopped" ? "stopped" : row.level === "error" ? "error" : "system",
          text: row.content ?? "",
          code: row.code,
          ...(row.fork ? { fork: row.fork } : {}),
        });
        break;
      default:
        break;
    }
  }
  return items;
}
