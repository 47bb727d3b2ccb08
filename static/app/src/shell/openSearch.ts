import { wishSearch } from "@/features/search";
import { useShell } from "./store";

/** Show the search over messages, with these words when there are any. */
export function openSearch(text?: string): void {
  useShell.setState({ activity: "search", sidebar: true, drawer: true });
  wishSearch(text);
}
