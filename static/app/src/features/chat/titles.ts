/** What the server's list says of the open sessions (titles, work not seen yet), asked for again soon after a change. */
import { listSessions } from "@/api/sessions";
import { apply, useChat } from "./state";

const get = useChat.getState;
const set = useChat.setState;

let titlesTimer: number | null = null;

export function refreshTitlesSoon(): void {
  if (titlesTimer !== null) return;
  titlesTimer = window.setTimeout(() => {
    titlesTimer = null;
    void refreshTitles();
  }, 300);
}

async function refreshTitles(): Promise<void> {
  const { workspace } = get();
  if (workspace === null) return;
  try {
    const page = await listSessions(workspace, null, 100);
    if (get().workspace !== workspace) return;
    const titles: Record<string, string> = { ...get().titles };
    for (const row of page.sessions) if (row.title) titles[row.id] = row.title;
    set({ titles });
    const unseen = new Map(page.sessions.map((row) => [row.id, row.unseen]));
    for (const { id } of get().tabs) {
      const said = unseen.get(id);
      if (said !== undefined && !isOnScreen(id)) apply(id, { type: "local:unseen", unseen: said });
    }
  } catch {
    // Titles are an ornament: the first words of the session stand in until the next change.
  }
}

/** What is on screen is being seen right now, whatever the list has heard of it. */
const isOnScreen = (id: string): boolean => id === get().active && document.visibilityState === "visible";
