import { useEffect } from "react";

import { rangesIn } from "../find";

/**
 * Mark words in the rows that are mounted, those of the present row stronger. No node is changed.
 * `everywhere` = in all rows, else in the present one only.
 */
export function useMarks(words: readonly string[], current: string | null, everywhere: boolean): void {
  const asked = words.join("\n");
  useEffect(() => {
    const log = document.querySelector(".chat-log");
    if (!log || asked === "" || !("highlights" in CSS)) return undefined;
    const terms = asked.split("\n");
    let frame = 0;
    const within = (rows: readonly HTMLElement[]): Range[] => rows.flatMap((row) => terms.flatMap((term) => rangesIn(row, term)));
    const mark = (): void => {
      frame = 0;
      const rows = [...log.querySelectorAll<HTMLElement>("[data-key]")];
      CSS.highlights.set("find", new Highlight(...(everywhere ? within(rows.filter((row) => row.dataset.key !== current)) : [])));
      CSS.highlights.set("find-now", new Highlight(...within(rows.filter((row) => row.dataset.key === current))));
    };
    const soon = (): void => {
      if (frame === 0) frame = window.requestAnimationFrame(mark);
    };
    mark();
    const observer = new MutationObserver(soon);
    observer.observe(log, { childList: true, subtree: true, characterData: true });
    return () => {
      observer.disconnect();
      window.cancelAnimationFrame(frame);
      CSS.highlights.delete("find");
      CSS.highlights.delete("find-now");
    };
  }, [asked, current, everywhere]);
}
