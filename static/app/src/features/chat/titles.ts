/** Titles of the open sessions, asked for again soon after something changed. */
import { listSessions } from "@/api/sessions";
import { useChat } from "./state";

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
  } catch {
    // Titles are an ornament: the first words of the session stand in until the next change.
  }
}
