/** Text that is not saved yet, per file, for as long as the page lives: another tab or agent in between loses nothing. */
import { create } from "zustand";

const useDrafts = create<Record<string, string>>()(() => ({}));

export function useDraft(file: string, stored: string): { text: string; dirty: boolean; change: (text: string) => void; forget: () => void } {
  const draft = useDrafts((state) => state[file]);
  const change = (text: string) => useDrafts.setState({ [file]: text });
  const forget = () => useDrafts.setState((state) => Object.fromEntries(Object.entries(state).filter(([name]) => name !== file)), true);
  return { text: draft ?? stored, dirty: draft !== undefined && draft !== stored, change, forget };
}

