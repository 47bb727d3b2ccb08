/** What a person searches for; it outlives the panel being hidden. */
import { create } from "zustand";

export type Scope = "all" | "folder";

interface Search {
  text: string;
  scope: Scope;
  archived: boolean;
  /** Counts the wishes to search: each puts the focus into the field. */
  wished: number;
}

export const useSearch = create<Search>()(() => ({ text: "", scope: "all", archived: false, wished: 0 }));

/** Begin a search, with these words when there are any. Showing the panel is the caller's business. */
export const wishSearch = (text?: string): void =>
  useSearch.setState((state) => ({ wished: state.wished + 1, ...(text === undefined ? {} : { text }) }));
