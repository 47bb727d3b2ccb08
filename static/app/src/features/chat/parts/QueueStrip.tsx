import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useShallow } from "zustand/react/shallow";

import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { splitReferences } from "../mentions";
import { busy } from "../model";
import { pendingQueue } from "../rows";
import { interrupt, moveQueued, putIntoComposer, removeQueued, setEditing, useChat, viewOf } from "../store";

const SHOWN = 3;

/** What the agent will read next, in order. Edit takes the text back into the composer. */
export function QueueStrip({ id, canWrite }: { id: string; canWrite: boolean }) {
  const { t } = useTranslation("chat");
  const [all, setAll] = useState(false);
  const [dragged, setDragged] = useState<number | null>(null);
  const { queue: waiting, pending, readIds, running, compacting, working } = useChat(
    useShallow((state) => {
      const { queue, pending, readIds, running, compacting } = viewOf(state, id);
      return { queue, pending, readIds, running, compacting, working: busy(viewOf(state, id)) };
    }),
  );
  // An own message that an idle agent is about to read stands in the log already.
  const soon = (entryId: number): boolean => !running && !compacting && pending.some((item) => item.entryId === entryId);
  const queue = waiting.filter((item) => !soon(item.entryId));
  const sending = pendingQueue({ pending, running, compacting }).filter((item) => !queue.some((other) => other.entryId === item.entryId));
  const shown = all ? queue : queue.slice(0, SHOWN);
  const read = useReadMark(readIds, working);
  if (queue.length === 0 && sending.length === 0) return read ? <div className="chat-queue-row quiet"><Ring state="ok" labelled={false} />{t("queue.read")}</div> : null;

  const move = (place: number, by: 1 | -1): void => {
    const item = queue[place];
    const to = place + by;
    if (!item || to < 0 || to >= queue.length) return;
    // `before` names the entry it shall stand in front of; null = last.
    const before = by < 0 ? queue[to]!.entryId : (queue[to + 1]?.entryId ?? null);
    moveQueued(id, item.entryId, before);
  };

  return (
    <div className="chat-queue" role="list" aria-label={t("queue.label")}>
      {shown.map((item, place) => (
        <div key={item.entryId} role="listitem" className="chat-queue-row" draggable={canWrite} tabIndex={0}
          onDragStart={() => setDragged(item.entryId)} onDragOver={(event) => dragged !== null && event.preventDefault()}
          onDrop={() => {
            if (dragged !== null && dragged !== item.entryId) moveQueued(id, dragged, item.entryId);
            setDragged(null);
          }}
          onKeyDown={(event) => {
            if (!event.altKey || !canWrite) return;
            if (event.key === "ArrowUp" || event.key === "ArrowDown") {
              event.preventDefault();
              move(place, event.key === "ArrowUp" ? -1 : 1);
            }
          }}>
          <span className="t3 xs chat-queue-next">{t("queue.next", { n: place + 1 })}</span>
          <span className="clip">{splitReferences(item.text).own.split("\n", 1)[0]}</span>
          <span className="grow" />
          {canWrite && (
            <>
              {queue.length > 1 && (
                <span className="chat-queue-moves">
                  <button type="button" className="icon-btn small" disabled={place === 0} title={`${t("queue.up")} (Alt ↑)`} aria-label={t("queue.up")} onClick={() => move(place, -1)}><Icon name="up" size={12} /></button>
                  <button type="button" className="icon-btn small" disabled={place === queue.length - 1} title={`${t("queue.down")} (Alt ↓)`} aria-label={t("queue.down")} onClick={() => move(place, 1)}><Icon name="down" size={12} /></button>
                </span>
              )}
              {place === 0 && working && <button type="button" className="icon-btn small" title={t("queue.sendNow")} aria-label={t("queue.sendNow")} onClick={() => interrupt(id)}><Icon name="bolt" size={12} /></button>}
              <button type="button" className="icon-btn small" title={t("queue.edit")} aria-label={t("queue.edit")} onClick={() => { setEditing({ sessionId: id, entryId: item.entryId }); putIntoComposer(id, item.text); }}><Icon name="pencil" size={12} /></button>
              <button type="button" className="icon-btn small" title={t("queue.remove")} aria-label={t("queue.remove")} onClick={() => removeQueued(id, item.entryId)}><Icon name="x" size={12} /></button>
            </>
          )}
        </div>
      ))}
      {queue.length > SHOWN && <button type="button" className="chat-queue-row link-btn sm" onClick={() => setAll(!all)}>{all ? t("queue.fewer") : t("queue.more", { n: queue.length - SHOWN })}</button>}
      {sending.map((item) => (
        <div key={item.key} role="listitem" className="chat-queue-row">
          <Ring state="wait" labelled={false} /><span className="clip">{splitReferences(item.text).own.split("\n", 1)[0]}</span><span className="grow" /><span className="t3 xs">{t("queue.sending")}</span>
        </div>
      ))}
    </div>
  );
}

/** "Read by the agent" for two seconds after the queue was taken. */
function useReadMark(readIds: readonly number[], working: boolean): boolean {
  const mark = readIds.join();
  const [shown, setShown] = useState("");
  const [seen, setSeen] = useState(mark);
  useEffect(() => {
    if (mark === seen) return undefined;
    setSeen(mark);
    if (mark === "") return undefined;
    setShown(mark);
    return undefined;
  }, [mark, seen]);
  useEffect(() => {
    if (shown === "") return undefined;
    const timer = window.setTimeout(() => setShown(""), 2000);
    return () => window.clearTimeout(timer);
  }, [shown]);
  return shown !== "" && working;
}
