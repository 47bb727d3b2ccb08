/**
 * Items -> rows of the log: what stands on its own line. Neighbouring reads share one row, deleted exchanges shrink to
 * one line, a day begins with a separator. Pure; an item that did not change keeps its row object (memo by identity).
 */
import { dayKey } from "./format";
import type { Executing, Item, NoticeItem, SummaryItem, TextItem, ThinkingItem, ToolItem, UsageItem, UserItem, View } from "./model";
import { folds } from "./tools";

export interface UsageSum {
  calls: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  ttftMs: number | null;
  totalMs: number | null;
  effort: string | null;
  modelId: string | null;
  costMicros: number | null; // null = unknown
  currency: string;
}

export type Row =
  | { kind: "date"; key: string; at: number }
  | { kind: "user"; key: string; item: UserItem }
  | { kind: "summary"; key: string; item: SummaryItem }
  | { kind: "text"; key: string; item: TextItem }
  | { kind: "thinking"; key: string; item: ThinkingItem }
  | { kind: "tool"; key: string; item: ToolItem }
  | { kind: "fold"; key: string; items: readonly ToolItem[] }
  | { kind: "usage"; key: string; sum: UsageSum; total: boolean }
  | { kind: "notice"; key: string; item: NoticeItem }
  | { kind: "executing"; key: string; line: string }
  | { kind: "agents"; key: string; agents: View["agents"] }
  | { kind: "caret"; key: string };

const NO_USAGE: UsageSum = {
  calls: 0, input: 0, output: 0, cacheRead: 0, cacheWrite: 0, ttftMs: null, totalMs: null, effort: null, modelId: null,
  costMicros: 0, currency: "",
};

export function addUsage(sum: UsageSum, item: UsageItem): UsageSum {
  const { usage } = item;
  return {
    calls: sum.calls + 1,
    input: sum.input + (usage.inputTokens ?? 0),
    output: sum.output + (usage.outputTokens ?? 0),
    cacheRead: sum.cacheRead + (usage.cacheReadInputTokens ?? 0),
    cacheWrite: sum.cacheWrite + (usage.cacheWriteInputTokens ?? 0),
    ttftMs: sum.ttftMs ?? usage.ttftMs ?? null,
    totalMs: usage.e2eMs === undefined ? sum.totalMs : (sum.totalMs ?? 0) + usage.e2eMs,
    effort: usage.thinkingEffort ?? sum.effort,
    modelId: item.modelId ?? sum.modelId,
    costMicros: sum.costMicros === null || item.costMicros === undefined ? null : sum.costMicros + item.costMicros,
    currency: item.currency ?? sum.currency,
  };
}

const simple = new WeakMap<Item, Row>();
const foldRows = new WeakMap<ToolItem, Extract<Row, { kind: "fold" }>>();
const callRows = new WeakMap<UsageItem, Row>();
const sumRows = new WeakMap<UsageItem, Extract<Row, { kind: "usage" }>>();

function rowOf(item: Exclude<Item, UsageItem>): Row {
  const known = simple.get(item);
  if (known) return known;
  const row = { kind: item.kind, key: item.key, item } as Row;
  simple.set(item, row);
  return row;
}

function foldRow(items: readonly ToolItem[]): Row {
  const first = items[0]!;
  const known = foldRows.get(first);
  if (known && known.items.length === items.length && known.items.every((item, place) => item === items[place])) return known;
  const row = { kind: "fold", key: `fold:${first.key}`, items } as const;
  foldRows.set(first, row);
  return row;
}

/** The demo agent uses no tokens: a line of zeros would say nothing. */
const used = (sum: UsageSum): boolean => sum.input + sum.output + sum.cacheRead + sum.cacheWrite > 0;

/** The line of one model call. */
function callRow(item: UsageItem): Row {
  const known = callRows.get(item);
  if (known) return known;
  const row: Row = { kind: "usage", key: item.key, sum: addUsage(NO_USAGE, item), total: false };
  callRows.set(item, row);
  return row;
}

/** The line of a whole exchange; `last` is its newest call and names the row. */
function sumRow(last: UsageItem, sum: UsageSum): Row {
  const known = sumRows.get(last);
  if (known && known.sum.calls === sum.calls && known.sum.output === sum.output) return known;
  const row = { kind: "usage", key: `sum:${last.key}`, sum, total: sum.calls > 1 } as const;
  sumRows.set(last, row);
  return row;
}

interface Open {
  /** State carried over the border between settled and open items. */
  lastAt: number | null;
  rows: Row[];
  fold: ToolItem[];
  sum: UsageSum;
  last: UsageItem | null; // newest usage of the exchange
  shown: number; // usage lines already given for this exchange
  perCall: boolean;
}

const begin = (perCall: boolean): Open => ({
  lastAt: null, rows: [], fold: [], sum: NO_USAGE, last: null, shown: 0, perCall,
});

function closeFold(state: Open): void {
  if (state.fold.length === 0) return;
  state.rows.push(foldRow(state.fold));
  state.fold = [];
}

/** The end of an exchange: the sum of its model calls, unless its only line says the same. */
function closeExchange(state: Open): void {
  closeFold(state);
  if (state.last !== null && state.perCall && used(state.sum) && !(state.sum.calls === 1 && state.shown === 1)) {
    // The last call's own line would stand right above the sum: one of the two is enough.
    if (state.rows.at(-1) === callRows.get(state.last)) state.rows.pop();
    state.rows.push(sumRow(state.last, state.sum));
  }
  state.sum = NO_USAGE;
  state.last = null;
  state.shown = 0;
}

function feed(state: Open, item: Item, usageAfter: ReadonlyMap<string, UsageItem>): void {
  if (item.kind === "user" || item.kind === "summary") {
    closeExchange(state);
    if (item.at > 0 && (state.lastAt === null || dayKey(state.lastAt) !== dayKey(item.at))) {
      state.rows.push({ kind: "date", key: `date:${item.key}`, at: item.at });
    }
    if (item.at > 0) state.lastAt = item.at;
    state.rows.push(rowOf(item));
    return;
  }
  if (item.at > 0) state.lastAt = item.at;
  if (item.deleted) return;
  if (item.kind === "notice" && item.fork) closeExchange(state); // the line stands below all that was copied
  if (item.kind === "tool" && folds(item)) {
    state.fold = [...state.fold, item];
    return;
  }
  if (item.kind === "usage") {
    state.sum = addUsage(state.sum, item);
    state.last = item;
    return;
  }
  if (item.kind === "text" && item.text.trim() === "") return;
  closeFold(state);
  state.rows.push(rowOf(item));
  const after = item.kind === "text" ? usageAfter.get(item.key) : undefined;
  if (after && state.perCall && after.usage.inputTokens + after.usage.outputTokens > 0) {
    // One call's line stands under its last words; the sum of the exchange comes at its end.
    state.rows.push(callRow(after));
    state.shown += 1;
  }
}

/** The last text of each model call that has a usage: its line stands there and not behind the tools it asked for. */
function usageAfterText(items: readonly Item[]): Map<string, UsageItem> {
  const used = new Map<string, UsageItem>();
  for (const item of items) if (item.kind === "usage") used.set(item.turnId, item);
  const places = new Map<string, string>();
  for (const item of items) {
    if (item.kind === "text" && item.text.trim() !== "" && used.has(item.turnId)) places.set(item.turnId, item.key);
  }
  const after = new Map<string, UsageItem>();
  for (const [turnId, key] of places) after.set(key, used.get(turnId)!);
  return after;
}

export function rowsOf(items: readonly Item[], perCall = true, running = false): Row[] {
  const after = usageAfterText(items);
  const state = begin(perCall);
  for (const item of items) feed(state, item, after);
  closeFold(state);
  if (!running) closeExchange(state);
  return state.rows;
}

const settledRows = new WeakMap<readonly Item[], Map<string, Row[]>>();

/** Rows of the settled items up to the newest exchange, computed once per array. */
function cachedRows(items: readonly Item[], perCall: boolean): Row[] {
  const name = String(perCall);
  const known = settledRows.get(items)?.get(name);
  if (known) return known;
  const rows = rowsOf(items, perCall, false);
  const all = settledRows.get(items) ?? new Map<string, Row[]>();
  all.set(name, rows);
  settledRows.set(items, all);
  return rows;
}

const splits = new WeakMap<readonly Item[], [readonly Item[], readonly Item[]]>();

/** Settled items before the newest exchange, and the newest exchange: the open turn may still add to its fold and sum. */
function split(past: readonly Item[]): [readonly Item[], readonly Item[]] {
  const known = splits.get(past);
  if (known) return known;
  let cut = past.length;
  while (cut > 0 && past[cut - 1]!.kind !== "user" && past[cut - 1]!.kind !== "summary") cut -= 1;
  cut = Math.max(0, cut - 1);
  const parts: [readonly Item[], readonly Item[]] = [past.slice(0, cut), past.slice(cut)];
  splits.set(past, parts);
  return parts;
}

/** All rows of a view. Only the newest exchange is computed anew while text streams. */
export function rowsOfView(view: View, perCall: boolean): Row[] {
  const [before, newest] = split(view.past);
  const older = cachedRows(before, perCall);
  const busy = view.running || view.awaiting;
  const tail = rowsOf([...newest, ...view.live, ...localRows(view)], perCall, busy);
  const lastAt = before.at(-1)?.at ?? null;
  if (tail[0]?.kind === "date" && lastAt !== null && dayKey(lastAt) === dayKey(tail[0].at)) tail.shift();
  const agents = view.agents.filter((agent) => !agent.done);
  if (agents.length > 0) tail.push({ kind: "agents", key: "agents", agents: view.agents });
  for (const command of view.executing) tail.push(executingRow(command));
  if (busy && wantsCaret(view)) tail.push({ kind: "caret", key: "caret" });
  return older.length > 0 ? [...older, ...tail] : tail;
}

const executingRows = new WeakMap<Executing, Row>();

function executingRow(command: Executing): Row {
  const row: Row = executingRows.get(command) ?? { kind: "executing", key: command.key, line: command.line };
  executingRows.set(command, row);
  return row;
}

/** Own messages that are not in the queue strip: everything while idle, failed ones always. */
export const localRows = (view: View): readonly UserItem[] =>
  view.pending.filter((item) => item.state === "failed" || (!view.running && !view.compacting));

/** Own messages on their way into the queue of a busy agent. */
export const pendingQueue = (view: Pick<View, "pending" | "running" | "compacting">): readonly UserItem[] =>
  view.pending.filter((item) => item.state !== "failed" && (view.running || view.compacting));

/** A line with the caret stands where the next word will come, until something else shows that work goes on. */
function wantsCaret(view: View): boolean {
  if (view.awaiting) return true;
  for (const items of [view.live, view.past]) {
    for (let place = items.length - 1; place >= 0; place -= 1) {
      const item = items[place]!;
      if (item.kind === "usage") continue; // comes before its tools have run
      return item.kind === "user" || (item.kind === "tool" && item.output !== null);
    }
  }
  return true;
}
