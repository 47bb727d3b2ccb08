/** Pieces of the log as the server gives them: a snapshot, older windows, and what is let go again. Pure. */
import type { QueueItem, Snapshot } from "@/socket/frames";
import { agentsOf } from "./agents";
import { itemsOf } from "./log";
import type { Item, UserItem, View } from "./model";

/** Mark a message and the answer to it (up to the next message), as the server does. */
export function markExchange(view: View, entryId: number, deleted: boolean): View {
  let inside = false;
  const mark = (item: Item): Item => {
    if (item.kind === "user" || item.kind === "summary") inside = item.entryId === entryId;
    return inside && Boolean(item.deleted) !== deleted ? { ...item, deleted } : item;
  };
  return { ...view, past: view.past.map(mark), live: view.live.map(mark) };
}

export function fresh(older: readonly Item[], past: readonly Item[]): readonly Item[] {
  const known = new Set(past.map((item) => item.key));
  return older.filter((item) => !known.has(item.key));
}

/** Forget old windows (they are loaded again when somebody scrolls there); cut where an exchange begins. */
export function trim(view: View, keep: number): View {
  if (view.past.length <= keep * 2) return view;
  let cut = view.past.length - keep;
  while (cut > 0 && !(view.past[cut]!.kind === "user" && view.past[cut]!.entryId !== undefined)) cut -= 1;
  if (cut <= 0) return view;
  return { ...view, past: view.past.slice(cut), hasMore: true, before: view.past[cut]!.entryId! };
}

/** Older windows stay when the new window joins on to them without a hole. */
function olderThan(view: View, items: readonly Item[]): readonly Item[] {
  const first = items.find((item) => item.entryId !== undefined)?.entryId;
  if (first === undefined) return [];
  const older = view.past.filter((item) => item.entryId !== undefined && item.entryId < first);
  const joins = view.past.some((item) => item.entryId !== undefined && item.entryId >= first);
  return joins ? older : [];
}

export function applySnapshot(view: View, snapshot: Snapshot, now: number): View {
  const items = itemsOf(snapshot.recentMessages ?? []);
  const older = view.loaded ? olderThan(view, items) : [];
  const settled = [...older, ...keepLocal(view, items)];
  const running = snapshot.running ?? false;
  const queue = snapshot.queue ?? [];
  const known = new Set<number>();
  for (const item of items) if (item.kind === "user" && item.entryId !== undefined) known.add(item.entryId);
  const clientIds = new Set(items.map((item) => (item.kind === "user" ? item.clientMsgId : undefined)));
  // While a turn streams here, its rows stay on screen until the replay that follows rebuilds them.
  const keep = running && view.live.length > 0;
  const back = notYetIn(view, items, queue, keep);
  const pending = view.pending.filter(
    (item) => !(item.entryId !== undefined && known.has(item.entryId)) && !clientIds.has(item.clientMsgId),
  );
  const edge = older.length > 0;
  const next: View = {
    ...view,
    loaded: true,
    settled,
    past: keep ? view.past : settled,
    live: keep ? view.live.filter((item) => !back.includes(item as UserItem)) : [],
    pending: [...pending, ...back],
    queue,
    removed: [],
    waited: running ? queue.map((item) => item.entryId) : [],
    running,
    awaiting: !running && view.awaiting && back.length > 0,
    between: false,
    compacting: snapshot.compacting ?? false,
    startedAt: running ? (snapshot.startedAt ?? view.startedAt ?? now) : view.startedAt,
    endedAt: running ? null : view.running ? now : view.endedAt,
    agentId: snapshot.agentId ?? view.agentId,
    agentName: snapshot.agentName ?? view.agentName,
    maxContextTokens: snapshot.maxContextTokens ?? view.maxContextTokens,
    hasMore: edge ? view.hasMore : (snapshot.hasMore ?? false),
    before: edge ? view.before : (snapshot.before ?? null),
    seq: Math.max(view.seq, snapshot.seq ?? 0),
    archived: typeof snapshot.archivedAt === "number",
    resyncing: running ? view.resyncing : null,
    failed: lastIsError(settled),
    unseen: view.unseen || (view.running && !running),
    agents: agentsOf(snapshot, view.agents, now),
  };
  return next;
}

/**
 * Own messages of the log that the server's copy does not have there: they still wait in its queue, or it was read
 * before they were stored (the ack overtakes frames, which are applied once per animation frame). They go back to
 * what was sent from here, so that their pictures come into the log with them.
 */
function notYetIn(view: View, items: readonly Item[], queue: readonly QueueItem[], keep: boolean): UserItem[] {
  const queued = new Set(queue.map((item) => item.entryId));
  const newest = items.reduce((most, item) => Math.max(most, item.entryId ?? 0), 0);
  return view.live.filter(
    (item): item is UserItem =>
      item.kind === "user" && item.clientMsgId !== undefined && item.entryId !== undefined &&
      (queued.has(item.entryId) || (!keep && item.entryId > newest)),
  );
}

const lastIsError = (items: readonly Item[]): boolean => {
  const last = items.at(-1);
  return last?.kind === "notice" && last.level === "error";
};

/** What only this page knows about a row (pictures just sent, how long it thought) survives the fresh copy. */
function keepLocal(view: View, items: readonly Item[]): readonly Item[] {
  const mine = new Map<string, Item>();
  for (const item of [...view.past, ...view.live]) {
    if ((item.kind === "user" && item.images) || (item.kind === "thinking" && item.ms !== null)) mine.set(item.key, item);
  }
  // Rows of messages sent from here are known by the id given here: the ack may not have come yet.
  for (const item of [...view.pending, ...view.live]) {
    if (item.kind === "user" && item.images && item.clientMsgId) mine.set(item.clientMsgId, item);
  }
  if (mine.size === 0) return items;
  return items.map((item) => {
    const known = mine.get(item.key) ?? (item.kind === "user" && item.clientMsgId ? mine.get(item.clientMsgId) : undefined);
    if (item.kind === "user" && known?.kind === "user") return { ...item, images: known.images };
    if (item.kind === "thinking" && known?.kind === "thinking") return { ...item, ms: known.ms };
    return item;
  });
}
