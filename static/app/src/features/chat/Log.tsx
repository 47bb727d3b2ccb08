/**
 * The windowed log: only rows near the view are in the document, heights are measured once and kept by row key.
 * Pinned within 80 px of the end; scrolled up nothing moves, whatever comes in above or below. Arithmetic: virtual.ts.
 */
import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { RowView, type RowContext } from "./RowView";
import { busy } from "./model";
import { rowsOfView, type Row } from "./rows";
import { useMarks } from "./parts/marks";
import { clearFound, loadOlder, onSent, onShowRow, trimLog, useChat, useView } from "./store";
import { useTarget } from "./useTarget";
import { anchorAt, Heights, rangeFor, scrollFor, slotsFor, type Anchor } from "./virtual";

const PINNED_WITHIN = 80; // px
const HAND_LASTS = 800; // ms a scroll goes on after the last turn of the wheel
const REARM_BELOW = 200; // px scrolled down before the top loads again
const OVERSCAN = 6; // rows
const END = 1e9; // the browser clamps it: no reading of the layout needed

type LogRow = Row | { kind: "earlier"; key: "earlier" };

/** Scroll place and heights of a session outlive its tab being hidden. */
interface Kept {
  heights: Heights;
  anchor: Anchor | null;
  pinned: boolean;
}
const kept = new Map<string, Kept>();

function keptFor(id: string): Kept {
  const known = kept.get(id);
  if (known) return known;
  const fresh: Kept = { heights: new Heights(), anchor: null, pinned: true };
  kept.set(id, fresh);
  return fresh;
}

/** A guess until the row was measured once: prose by its length, everything else by its usual height. */
function estimate(row: LogRow): number {
  switch (row.kind) {
    case "text":
      return 30 + Math.ceil(row.item.text.length / 72) * 22;
    case "user":
      return 62 + Math.min(5, Math.floor(row.item.text.length / 80)) * 21;
    case "tool":
      return row.item.name === "shell_exec" ? 150 : 44;
    case "date":
      return 44;
    case "notice":
      return 48;
    case "earlier":
      return 40;
    default:
      return 34;
  }
}

/** Rows that may come and go at the edge of a window: never the reader's anchor. */
const drifts = (row: LogRow | undefined): boolean => row?.kind === "earlier" || row?.kind === "date";

interface Props {
  sessionId: string;
  canWrite: boolean;
  mayStop: boolean;
  onModelSettings: (() => void) | undefined;
}

export function Log({ sessionId, canWrite, mayStop, onModelSettings }: Props) {
  const { t } = useTranslation("chat");
  const view = useView(sessionId);
  const showUsage = useChat((state) => state.showUsage);
  const older = useChat((state) => state.loadingOlder[sessionId]);
  const place = useMemo(() => keptFor(sessionId), [sessionId]);
  const { heights } = place;
  const scroller = useRef<HTMLDivElement>(null);
  const armed = useRef(true);
  const held = useRef({ at: 0, dragging: false, top: 0, whole: 0 });
  const [, redraw] = useState(0);
  const window_ = useRef({ first: 0, last: -1 });
  const [focusKey, setFocusKey] = useState<string | null>(null);
  const [pinned, setPinned] = useState(place.pinned);
  const seenEnd = useRef<string>("");

  const shown = useMemo(() => rowsOfView(view, showUsage), [view, showUsage]);
  const rows = useMemo<LogRow[]>(
    () => (view.hasMore || older === "failed" ? [{ kind: "earlier", key: "earlier" }, ...shown] : shown),
    [shown, view.hasMore, older],
  );

  // While text streams only the last row changes: keys and guesses of the others are the same.
  const lastRows = useRef<LogRow[]>([]);
  const before = lastRows.current;
  if (rows !== before) {
    const same = rows.length === before.length && rows[0]?.key === before[0]?.key && rows.at(-1)?.key === before.at(-1)?.key && rows.at(-2)?.key === before.at(-2)?.key && heights.count === rows.length;
    if (!same) heights.setRows(rows.map((row) => row.key), rows.map(estimate));
    lastRows.current = rows;
  }

  const holdPlace = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    if (place.pinned) element.scrollTop = END;
    else if (place.anchor) {
      const top = scrollFor(heights, place.anchor);
      // A write that changes nothing would still stop a scroll that is under way.
      if (top !== null && Math.abs(element.scrollTop - top) >= 1) element.scrollTop = top;
    }
  }, [heights, place]);

  const look = useCallback((): boolean => {
    const element = scroller.current;
    if (!element) return false;
    const height = element.clientHeight;
    const top = place.pinned ? Math.max(0, heights.total - height) : element.scrollTop;
    const next = rangeFor(heights, top, height, OVERSCAN);
    if (next.first === window_.current.first && next.last === window_.current.last) return false;
    window_.current = next;
    return true;
  }, [heights, place]);

  // The first render has no element yet; afterwards the window follows the rows within the same commit.
  useLayoutEffect(() => {
    if (look()) redraw((n) => n + 1);
    holdPlace();
  }, [rows, look, holdPlace]);

  // Gaps that follow new heights are drawn one render after they were measured: the end has moved once more.
  useLayoutEffect(() => {
    if (place.pinned) holdPlace();
  });

  const onScroll = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const top = element.scrollTop;
    const whole = element.scrollHeight;
    const rest = whole - top - element.clientHeight;
    // Rows that turn out higher than guessed also move the end away: only a person's hand, or a move up in an
    // unchanged log (find in page, a screen reader), lets go of the end.
    const byHand = held.current.dragging || Date.now() - held.current.at < HAND_LASTS;
    const movedUp = top < held.current.top - 1 && whole === held.current.whole;
    held.current.top = top;
    held.current.whole = whole;
    const nowPinned = rest <= PINNED_WITHIN || (place.pinned && !byHand && !movedUp);
    if (nowPinned !== place.pinned) {
      place.pinned = nowPinned;
      setPinned(nowPinned);
      if (nowPinned) trimLog(sessionId);
    }
    let anchor = anchorAt(heights, top);
    for (let row = anchor ? heights.placeOf(anchor.key) : -1; anchor && drifts(lastRows.current[row]); ) {
      row += 1;
      const key = heights.keyAt(row);
      if (key === undefined) break;
      anchor = { key, offset: top - heights.top(row) };
    }
    place.anchor = anchor;
    if (top > REARM_BELOW) armed.current = true;
    else if (top < PINNED_WITHIN && armed.current && !nowPinned) {
      armed.current = false;
      void loadOlder(sessionId);
    }
    if (look()) redraw((n) => n + 1);
  }, [heights, look, place, sessionId]);

  const observer = useMemo(
    () =>
      new ResizeObserver((entries) => {
        const sizes = new Map<string, number>();
        for (const entry of entries) {
          const key = (entry.target as HTMLElement).dataset.key;
          if (key !== undefined && entry.target.isConnected) sizes.set(key, entry.borderBoxSize[0]!.blockSize);
        }
        if (!heights.measure(sizes)) return;
        holdPlace();
        if (look()) redraw((n) => n + 1);
      }),
    [heights, holdPlace, look],
  );
  useEffect(() => () => observer.disconnect(), [observer]);

  // The panel itself changes height (composer grows, window resized): pinned stays pinned.
  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const sizes = new ResizeObserver(() => {
      holdPlace();
      if (look()) redraw((n) => n + 1);
    });
    sizes.observe(element);
    return () => sizes.disconnect();
  }, [holdPlace, look]);

  const toEnd = useCallback(() => {
    held.current.at = 0;
    place.pinned = true;
    setPinned(true);
    look();
    redraw((n) => n + 1);
    holdPlace();
    trimLog(sessionId);
  }, [holdPlace, look, place, sessionId]);

  const byHand = useCallback(() => {
    held.current.at = Date.now();
  }, []);
  const onPointer = useCallback((event: React.PointerEvent) => {
    if (event.type === "pointerdown" && event.target !== scroller.current) clearFound();
    held.current.dragging = event.type === "pointerdown" && event.target === scroller.current; // the scroll bar
    if (event.pointerType === "touch") held.current.at = Date.now();
  }, []);

  /** A row that was looked for: a third down the view, clear of the card that sticks at the top. */
  const toRow = useCallback((key: string) => {
    const element = scroller.current;
    if (!element || heights.placeOf(key) < 0 || heights.total <= element.clientHeight) return; // all of it is in view
    held.current.at = Date.now();
    place.pinned = false;
    setPinned(false);
    place.anchor = { key, offset: -Math.round(element.clientHeight / 3) };
    holdPlace();
    look();
    redraw((n) => n + 1);
  }, [heights, holdPlace, look, place]);
  useEffect(() => onShowRow((id, key) => id === sessionId && toRow(key)), [sessionId, toRow]);

  useTarget(sessionId, view, shown, older);
  const found = useChat((state) => (state.found?.sessionId === sessionId ? state.found : null));
  useMarks(found?.terms ?? [], found?.key ?? null, false);

  useEffect(() => onSent((id) => id === sessionId && toEnd()), [sessionId, toEnd]);

  const end = rows.at(-1);
  const endMark = end ? `${end.key}:${end.kind === "text" ? end.item.text.length : 0}` : "";
  if (pinned) seenEnd.current = endMark;
  const fresh = !pinned && endMark !== seenEnd.current;

  const range = window_.current;
  const top = scroller.current && !place.pinned ? scroller.current.scrollTop : Math.max(0, heights.total - (scroller.current?.clientHeight ?? 0));
  const sticky = stickyRow(rows, heights, top);
  const focused = focusKey === null ? -1 : heights.placeOf(focusKey);
  const { slots, after } = slotsFor(heights, range, [sticky, focused]);
  const working = busy(view);
  const context: RowContext = useMemo(
    () => ({ sessionId, canWrite, mayStop, busy: working, running: view.running, onModelSettings }),
    [sessionId, canWrite, mayStop, working, view.running, onModelSettings],
  );

  const onKeyDown = (event: React.KeyboardEvent): void => {
    const element = scroller.current;
    if (!element || event.altKey || event.ctrlKey || event.metaKey) return;
    byHand();
    if (event.key === "End") {
      event.preventDefault();
      toEnd();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (event.target !== element && (event.target as HTMLElement).getAttribute("role") !== "article") return;
      event.preventDefault();
      moveFocus(element, event.key === "ArrowDown" ? 1 : -1);
    }
  };

  return (
    <div className="chat-log-frame">
      <div ref={scroller} className="chat-log" role="log" aria-live="off" aria-label={t("log")} aria-busy={!view.loaded} tabIndex={0}
        onScroll={onScroll} onKeyDown={onKeyDown} onWheel={byHand} onTouchMove={byHand} onPointerDown={onPointer} onPointerUp={onPointer} onPointerCancel={onPointer}
        onFocus={(event) => setFocusKey((event.target as HTMLElement).closest<HTMLElement>("[data-key]")?.dataset.key ?? null)}
        onBlur={() => setFocusKey(null)}>
        <div className="chat-column">
          {slots.map(({ place: at, gap }) => {
            const row = rows[at];
            if (!row) return null;
            return (
              <Slot key={row.key} observer={observer} row={row} gap={gap} sticky={at === sticky} place={at} count={rows.length} older={older} context={context} last={at === rows.length - 1} found={row.key === found?.key} />
            );
          })}
          {after > 0 && <div style={{ height: after }} aria-hidden="true" />}
        </div>
      </div>
      {!pinned && rows.length > 0 && (
        <button type="button" className="chat-jump" onClick={toEnd} aria-label={fresh ? t("jumpNew") : t("jump")}>
          <Icon name="adown" size={14} />{t("jump")}{fresh && <Ring state="new" labelled={false} />}
        </button>
      )}
    </div>
  );
}

/** The message whose exchange is being read: the last one that has reached the top. */
function stickyRow(rows: readonly LogRow[], heights: Heights, top: number): number {
  for (let at = heights.count > 0 ? heights.at(top) : -1; at >= 0; at -= 1) {
    if (rows[at]?.kind === "user") return at;
  }
  return -1;
}

function moveFocus(scroller: HTMLElement, by: 1 | -1): void {
  const all = [...scroller.querySelectorAll<HTMLElement>('[role="article"]')];
  const here = all.indexOf(document.activeElement as HTMLElement);
  const next = here < 0 ? (by > 0 ? all[0] : all.at(-1)) : all[here + by];
  next?.focus({ preventScroll: false });
}

interface SlotProps {
  observer: ResizeObserver;
  row: LogRow;
  gap: number;
  sticky: boolean;
  place: number;
  count: number;
  older: "loading" | "failed" | undefined;
  context: RowContext;
  last: boolean;
  found: boolean;
}

const Slot = memo(function Slot({ observer, row, gap, sticky, place, count, older, context, last, found }: SlotProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    observer.observe(target);
    return () => observer.unobserve(target);
  }, [observer]);
  const article = row.kind === "user" || row.kind === "text" || row.kind === "tool" || row.kind === "fold" || row.kind === "notice" || row.kind === "summary" || row.kind === "thinking";
  return (
    <>
      {gap > 0 && <div style={{ height: gap }} aria-hidden="true" />}
      <div ref={element} data-key={row.key} className={`chat-row chat-row-${row.kind}${sticky ? " sticky" : ""}${found ? " found" : ""}`}
        {...(article ? { role: "article", tabIndex: -1, "aria-posinset": place + 1, "aria-setsize": count } : {})}>
        {row.kind === "earlier" ? <Earlier sessionId={context.sessionId} state={older} /> : <RowView row={row} last={last} context={context} />}
      </div>
    </>
  );
});

function Earlier({ sessionId, state }: { sessionId: string; state: "loading" | "failed" | undefined }) {
  const { t } = useTranslation("chat");
  return (
    <div className="chat-earlier">
      {state === "failed" && <span className="err">{t("load.olderFailed")}</span>}
      <button type="button" className="btn ghost small" disabled={state === "loading"} onClick={() => void loadOlder(sessionId)}>
        {state === "loading" ? t("load.olderLoading") : state === "failed" ? t("load.retry") : t("load.older")}
      </button>
    </div>
  );
}
