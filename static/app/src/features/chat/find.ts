/** Find in session: which rows hold the words, and where to go next. Pure. What stands in the log counts, not what is folded away. */
import type { Row } from "./rows";
import { subjectOf } from "./tools";

export const LEAST = 2; // characters before a search begins: one letter is everywhere

function shown(row: Row): string {
  switch (row.kind) {
    case "user":
      return row.item.deleted ? "" : row.item.text;
    case "text":
    case "notice":
    case "summary":
      return row.item.text;
    case "tool":
      return subjectOf(row.item);
    default:
      return "";
  }
}

/** Keys of the rows that hold the words, oldest first; whatever the case. */
export function hitsOf(rows: readonly Row[], words: string): string[] {
  const wanted = words.trim().toLowerCase();
  if (wanted.length < LEAST) return [];
  return rows.filter((row) => shown(row).toLowerCase().includes(wanted)).map((row) => row.key);
}

/** The next hit, older (-1) or newer (1), around the ends; the newest when there is no present one. Null = no hits. */
export function nextHit(hits: readonly string[], current: string | null, by: 1 | -1): string | null {
  if (hits.length === 0) return null;
  const here = current === null ? -1 : hits.indexOf(current);
  if (here < 0) return hits.at(-1)!;
  return hits[(here + by + hits.length) % hits.length]!;
}

/** Places of the words in the text below an element, for marking: one range per place within a text node. */
export function rangesIn(element: Element, words: string): Range[] {
  const wanted = words.trim().toLowerCase();
  const ranges: Range[] = [];
  if (wanted.length < LEAST) return ranges;
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = (node.nodeValue ?? "").toLowerCase();
    for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}
