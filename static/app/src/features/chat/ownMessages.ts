/** Messages on their way: sent from here, acknowledged, waiting in the queue, read by the agent. Pure. */
import type { QueueItem } from "@/socket/frames";
import type { Item, UserItem, View } from "./model";

const sameEntry = (entryId: number) => (item: Item): boolean => item.entryId === entryId && item.kind === "user";

export const knows = (view: View, entryId: number): boolean =>
  view.live.some(sameEntry(entryId)) || view.past.some(sameEntry(entryId));

/** To the end of the log: a user message opens a new exchange, so what stands before it is settled text. */
export function addUser(view: View, item: UserItem): View {
  return { ...view, live: [...view.live, item] };
}

/** What left the queue was read by the agent, unless somebody removed it. */
export function queueChanged(view: View, items: readonly QueueItem[], removedNow: readonly number[], now: number): View {
  const here = new Set(items.map((item) => item.entryId));
  const gone = view.queue.filter((item) => !here.has(item.entryId));
  const takenBack = new Set([...view.removed, ...removedNow]); // here, or in another tab
  const taken = gone.filter((item) => !takenBack.has(item.entryId));
  const removed = new Set(gone.filter((item) => takenBack.has(item.entryId)).map((item) => item.entryId));
  const read = taken.map((item) => item.entryId).filter((id) => view.waited.includes(id));
  // It looked idle here and was not: the message leaves the log again until it is read.
  const back = view.live.filter((item): item is UserItem => item.kind === "user" && here.has(item.entryId ?? -1));
  let next: View = {
    ...view,
    queue: items,
    live: back.length > 0 ? view.live.filter((item) => !back.includes(item as UserItem)) : view.live,
    removed: view.removed.filter((id) => here.has(id)),
    pending: [...view.pending.filter((item) => !removed.has(item.entryId ?? -1)), ...back],
    waited: view.running || view.compacting ? [...here] : view.waited.filter((id) => here.has(id)),
    readIds: read.length > 0 ? read : view.readIds,
  };
  for (const item of taken) {
    // The message as it was sent from here (its pictures), else as the queue told of it.
    const mine = next.pending.find((one) => one.entryId === item.entryId);
    next = { ...next, pending: next.pending.filter((one) => one !== mine) };
    if (knows(next, item.entryId)) continue;
    const origin = item.origin ? { kind: item.origin } : null;
    const told: UserItem = { kind: "user", key: `user:${item.entryId}`, at: now, entryId: item.entryId, text: item.text, state: "sent", origin };
    // A person may have edited the message in the queue; what others sent carries more than the queue tells of it.
    next = addUser(next, mine ? { ...mine, text: ofPerson(mine.origin) ? item.text : mine.text, at: now, state: "sent" } : told);
  }
  return next;
}

/** Without an origin it was sent from here. */
const ofPerson = (origin: UserItem["origin"]): boolean => !origin || origin.kind === "person";

/** Messages of this tab that were accepted while the run was busy and are no longer queued stand in the log. */
export function flushTaken(view: View, now: number): View {
  const queued = new Set(view.queue.map((item) => item.entryId));
  const taken = view.pending.filter((item) => item.entryId !== undefined && !queued.has(item.entryId));
  if (taken.length === 0) return view;
  let next: View = { ...view, pending: view.pending.filter((item) => !taken.includes(item)) };
  for (const item of taken) if (!knows(next, item.entryId!)) next = addUser(next, { ...item, at: now });
  return next;
}

export function acked(view: View, clientMsgId: string, entryId: number): View {
  const mine = view.pending.find((item) => item.clientMsgId === clientMsgId);
  if (!mine) return view;
  const rest = view.pending.filter((item) => item !== mine);
  const sent: UserItem = { ...mine, state: "sent", entryId };
  if (knows(view, entryId)) {
    // Its row came first (a snapshot, or the queue): keep that place, and the pictures only we have.
    const withImages = (item: Item): Item =>
      sameEntry(entryId)(item) && item.kind === "user" ? { ...item, images: mine.images, clientMsgId } : item;
    return { ...view, pending: rest, live: view.live.map(withImages), past: view.past.map(withImages) };
  }
  const waits: View = { ...view, pending: view.pending.map((item) => (item === mine ? sent : item)) };
  if (view.running) return waits;
  const queued = view.queue.some((item) => item.entryId === entryId);
  return {
    ...(queued ? waits : addUser({ ...view, pending: rest }, sent)),
    awaiting: true,
    startedAt: view.awaiting ? view.startedAt : sent.at,
    endedAt: null,
    ...(view.awaiting ? {} : { runOutput: 0, runCost: null }),
  };
}

export function mapPending(view: View, clientMsgId: string, change: Partial<UserItem>): View {
  return {
    ...view,
    pending: view.pending.map((item) => (item.clientMsgId === clientMsgId ? { ...item, ...change } : item)),
  };
}
