/**
 * The end of the log that was on screen, for the first paint after a reload; the snapshot takes its place (DESIGN 12).
 * One for the page: of the session that was in front. In session storage: it goes with the browser tab, and the login page clears it.
 */
import { LAST_WINDOW as KEY, tabStorage } from "@/shared/storage";
import { newView, type Item, type View } from "./model";

const MOST_ITEMS = 60;
const MOST_CHARS = 200_000;

interface Kept {
  workspace: string;
  sessionId: string;
  agentName: string;
  items: Item[];
}

/** The newest items as another page may show them: without pictures of this page, named as a snapshot names them. */
export function newest(items: readonly Item[], chars = MOST_CHARS): Item[] {
  const kept: Item[] = [];
  let room = chars;
  for (let place = items.length - 1; place >= 0 && kept.length < MOST_ITEMS; place -= 1) {
    const item = portable(items[place]!);
    room -= JSON.stringify(item).length;
    if (room < 0) break;
    kept.unshift(item);
  }
  return kept;
}

function portable(item: Item): Item {
  if (item.kind === "thinking") return { ...item, open: false };
  if (item.kind !== "user") return item;
  const { images: _page, ...rest } = item;
  return item.entryId === undefined ? rest : { ...rest, key: `user:${item.entryId}` };
}

export function keepWindow(workspace: string, view: View | undefined): void {
  if (!view?.loaded || view.past.length + view.live.length === 0) return tabStorage.remove(KEY);
  const kept: Kept = { workspace, sessionId: view.sessionId, agentName: view.agentName, items: newest([...view.past, ...view.live]) };
  tabStorage.setJson(KEY, kept);
}

const isKept = (value: unknown): value is Kept => {
  const maybe = value as Partial<Kept> | null;
  return (
    typeof maybe === "object" && maybe !== null && typeof maybe.workspace === "string" && typeof maybe.sessionId === "string" &&
    typeof maybe.agentName === "string" && Array.isArray(maybe.items) &&
    maybe.items.every((item) => typeof item?.kind === "string" && typeof item.key === "string" && typeof item.at === "number")
  );
};

/** What was kept of this session; a view that is not loaded yet. */
export function keptView(workspace: string, sessionId: string): View | null {
  const kept = tabStorage.getJson<Kept | null>(KEY, null, isKept);
  if (kept?.workspace !== workspace || kept.sessionId !== sessionId) return null;
  return { ...newView(sessionId), agentName: kept.agentName, past: kept.items, settled: kept.items };
}
