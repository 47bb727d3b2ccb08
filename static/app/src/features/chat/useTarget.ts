/** Lead a person to the message they chose: load what is missing, then show its row and mark the words. */
import { useEffect } from "react";

import { giveUpTarget, loadTowardsTarget, reload, showRow, useChat } from "./store";
import type { View } from "./model";
import type { Row } from "./rows";
import { mayBeHere, rowOfEntry } from "./target";

export function useTarget(id: string, view: View, rows: readonly Row[], older: "loading" | "failed" | undefined): void {
  const target = useChat((state) => (state.target?.sessionId === id && state.target.workspace === state.workspace ? state.target : null));
  useEffect(() => {
    if (target === null || !view.loaded) return;
    const key = rowOfEntry(rows, target);
    if (key !== null) {
      useChat.setState({ target: null, found: { sessionId: id, key, terms: target.terms } });
      showRow(id, key);
    } else if (mayBeHere(view, target.entryId)) {
      if (target.asked) return; // its snapshot is on the way
      useChat.setState({ target: { ...target, asked: true } });
      reload(id);
    } else if (view.hasMore) {
      if (older === undefined) void loadTowardsTarget(id);
    } else giveUpTarget(); // deleted meanwhile: its session is open, that is all there is to see
  }, [id, target, view, rows, older]);
}
