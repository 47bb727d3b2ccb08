import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { Markdown } from "../markdown/Markdown";
import type { TextItem } from "../model";
import { startFork } from "../store";
import { CopyButton } from "./CopyButton";

interface Props {
  item: TextItem;
  sessionId: string;
  canWrite: boolean;
  caret: boolean;
}

/** What the agent said. Copy gives the Markdown it wrote. */
export function TextRow({ item, sessionId, canWrite, caret }: Props) {
  const { t } = useTranslation("chat");
  return (
    <div className="chat-said">
      <Markdown text={item.text} caret={caret} />
      {!caret && (
        <div className="chat-actions">
          <CopyButton text={item.text} label={t("user.copy")} />
          {canWrite && (
            <button type="button" className="icon-btn small" title={t("fork.action")} aria-label={t("fork.action")}
              onClick={() => startFork({ sessionId, ...(item.entryId === undefined ? { turnId: item.turnId } : { entryId: item.entryId }), words: item.text })}><Icon name="branch" size={14} /></button>
          )}
        </div>
      )}
    </div>
  );
}
