import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import type { UserItem } from "../model";
import { deleteExchange, putIntoComposer, send, startFork } from "../store";
import { parentOf } from "../tabs";
import { CopyButton } from "./CopyButton";

interface Props {
  item: UserItem;
  sessionId: string;
  canWrite: boolean;
  busy: boolean;
  /** What is copied: the body without what the server put around it. */
  own: string;
  /** A person's own words can be asked again. */
  again: boolean;
}

/** What can be done with one message; shown while it is hovered or holds the focus. */
export function MessageActions({ item, sessionId, canWrite, busy, own, again }: Props) {
  const { t } = useTranslation("chat");
  const stored = item.entryId !== undefined;
  return (
    <div className="chat-actions">
      <CopyButton text={own} label={t("user.copy")} />
      {canWrite && again && item.state === "sent" && (
        <button type="button" className="icon-btn small" title={t("user.retry")} aria-label={t("user.retry")} onClick={() => (busy ? putIntoComposer(sessionId, own) : send(sessionId, own))}><Icon name="retry" size={14} /></button>
      )}
      {canWrite && stored && (
        <button type="button" className="icon-btn small" title={t("fork.action")} aria-label={t("fork.action")} onClick={() => startFork({ sessionId, entryId: item.entryId!, words: own })}><Icon name="branch" size={14} /></button>
      )}
      {canWrite && stored && !busy && parentOf(sessionId) === null && (
        <button type="button" className="icon-btn small" title={t("user.delete")} aria-label={t("user.delete")} onClick={() => deleteExchange(sessionId, item.entryId!)}><Icon name="trash" size={14} /></button>
      )}
    </div>
  );
}
