/** Where a message that is looked for stands in the log. Pure. */
import type { Item, View } from "./model";
import type { Row } from "./rows";

export interface Wanted {
  entryId: number;
  terms: readonly string[];
}

const itemsOfRow = (row: Row): readonly Item[] => ("item" in row ? [row.item] : row.kind === "fold" ? row.items : []);

const holds = (row: Row, terms: readonly string[]): boolean => {
  if (row.kind !== "text" && row.kind !== "user" && row.kind !== "summary") return false;
  const text = row.item.text.toLowerCase();
  return terms.some((term) => text.includes(term.toLowerCase()));
};

/** Key of the row that shows an entry: of several blocks the first that holds one of the terms. Null = not loaded. */
export function rowOfEntry(rows: readonly Row[], wanted: Wanted): string | null {
  const own = rows.filter((row) => itemsOfRow(row).some((item) => item.entryId === wanted.entryId));
  return (own.find((row) => holds(row, wanted.terms)) ?? own[0])?.key ?? null;
}

/**
 * Whether a message that no row shows may be among those here, or newer than all of them: what was streamed to this
 * page gets its entry ids from the next snapshot.
 */
export function mayBeHere(view: Pick<View, "past" | "live">, entryId: number): boolean {
  const streamed = view.past.some((item) => item.entryId === undefined && "turnId" in item);
  const newest = [...view.past, ...view.live].reduce((most, item) => Math.max(most, item.entryId ?? 0), 0);
  return streamed || newest < entryId;
}
