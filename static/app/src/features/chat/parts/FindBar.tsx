import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { hitsOf, LEAST, nextHit } from "../find";
import { rowsOfView } from "../rows";
import { closeFind, loadOlder, showRow, useChat, useView } from "../store";
import { useMarks } from "./marks";

/** Find in this session. Older windows are loaded while it is open, so that the whole conversation is searched. */
export function FindBar({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const view = useView(id);
  const showUsage = useChat((state) => state.showUsage);
  const older = useChat((state) => state.loadingOlder[id]);
  const [words, setWords] = useState("");
  const [current, setCurrent] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const hits = useMemo(() => hitsOf(rowsOfView(view, showUsage), words), [view, showUsage, words]);
  const searching = words.trim().length >= LEAST;

  useEffect(() => {
    const before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    field.current?.focus();
    return () => before?.focus({ preventScroll: true });
  }, []);

  useEffect(() => {
    if (searching && view.hasMore && older === undefined) void loadOlder(id);
  }, [searching, view.hasMore, view.before, older, id]);

  const go = (key: string | null): void => {
    setCurrent(key);
    if (key !== null) showRow(id, key);
  };
  // The newest hit is shown as soon as there is one.
  const lost = current === null || !hits.includes(current);
  useEffect(() => {
    if (lost && hits.length > 0) go(nextHit(hits, null, -1));
  });
  useMarks([words.trim()], current, true);

  const place = current === null ? -1 : hits.indexOf(current);
  const said = !searching ? "" : hits.length > 0 ? t("find.count", { n: Math.max(1, place + 1), all: hits.length }) : view.hasMore ? "" : t("find.none");
  return (
    <div className="chat-find" role="search" aria-label={t("find.label")}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          closeFind();
        } else if (event.key === "Enter" && event.target === field.current && !event.nativeEvent.isComposing) {
          event.preventDefault();
          go(nextHit(hits, current, event.shiftKey ? 1 : -1));
        }
      }}>
      <Icon name="search" size={14} className="t3" />
      <input ref={field} value={words} aria-label={t("find.label")} placeholder={t("find.label")} onChange={(event) => { setWords(event.target.value); setCurrent(null); }} />
      <span className="t3 sm num" role="status">{said}{searching && view.hasMore && ` ${t(older === "failed" ? "load.olderFailed" : "find.searching")}`}</span>
      <button type="button" className="icon-btn small" disabled={hits.length === 0} title={`${t("find.older")} (Enter)`} aria-label={t("find.older")} onClick={() => go(nextHit(hits, current, -1))}><Icon name="up" size={14} /></button>
      <button type="button" className="icon-btn small" disabled={hits.length === 0} title={`${t("find.newer")} (Shift Enter)`} aria-label={t("find.newer")} onClick={() => go(nextHit(hits, current, 1))}><Icon name="down" size={14} /></button>
      <button type="button" className="icon-btn small" title={`${t("find.close")} (Esc)`} aria-label={t("find.close")} onClick={closeFind}><Icon name="x" size={14} /></button>
    </div>
  );
}
