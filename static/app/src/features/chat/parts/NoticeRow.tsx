import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { clock, duration } from "../format";
import type { NoticeItem } from "../model";
import { openEntry, send, useChat } from "../store";
import { useOpen } from "./memory";

interface Props {
  item: NoticeItem;
  sessionId: string;
  last: boolean;
  canWrite: boolean;
  onModelSettings: (() => void) | undefined;
}

/** Codes whose cure is in the model settings. */
const MODEL_CODES = /^(account|setup|no_model|model|provider)/;

/** What Halo tells the agent with a report: who still works. A person sees that in the sub-agents' card. */
const TO_AGENT = /^\[System @ [^\]]+\] /;

export const NoticeRow = memo(function NoticeRow({ item, sessionId, last, canWrite, onModelSettings }: Props) {
  const { t } = useTranslation("chat");
  if (item.level === "stopped") {
    return (
      <div className="chat-notice">
        <Ring state="idle" labelled={false} />
        <span className="grow num">{item.ms === undefined ? t("notice.stoppedNow") : t("notice.stopped", { time: item.ms < 60_000 ? duration(item.ms) : clock(item.ms) })}</span>
        {last && canWrite && <button type="button" className="btn ghost tiny" onClick={() => send(sessionId, t("notice.continueText"))}>{t("notice.continue")}</button>}
      </div>
    );
  }
  if (item.fork) return <ForkLine source={item.fork} />;
  if (item.level === "error") {
    // A text with a code is a finished sentence for the person; without one it is said what it is.
    const [first, ...rest] = (item.code ? item.text : t("notice.error", { text: item.text })).split(/(?<=[.。!！])\s+/);
    return (
      <div className="chat-error" role="alert">
        <Icon name="alert" size={16} />
        <div className="grow">
          <b>{first}</b>
          {rest.length > 0 && <div className="t2">{rest.join(" ")}</div>}
        </div>
        {onModelSettings && item.code && MODEL_CODES.test(item.code) && <button type="button" className="btn small" onClick={onModelSettings}>{t("notice.settings")}</button>}
      </div>
    );
  }
  const told = TO_AGENT.exec(item.text);
  if (told) return <ToAgent name={item.key} text={item.text.slice(told[0].length)} />;
  const compacting = /^Compacting context/.test(item.text) && last;
  return (
    <div className={`chat-notice${item.text.includes("\n") ? " chat-notice-lines mono" : ""}`}>
      {compacting ? <Ring state="run" labelled={false} /> : <Icon name="info" size={14} />}
      <span className="grow">{item.text}</span>
    </div>
  );
});

/** Between what was copied and what came after: where it was copied from. */
function ForkLine({ source }: { source: NonNullable<NoticeItem["fork"]> }) {
  const { t } = useTranslation("chat");
  const workspace = useChat((state) => state.workspace);
  return (
    <div className="chat-forked" role="note">
      <Icon name="branch" size={14} /><span>{t("fork.from")}</span>
      <button type="button" className="link-btn clip" title={t("fork.fromHint")} onClick={() => workspace !== null && openEntry(workspace, source.session, source.entry)}>{source.title || t("tabs.untitled")}</button>
    </div>
  );
}

function ToAgent({ name, text }: { name: string; text: string }) {
  const { t } = useTranslation("chat");
  const [open, setOpen] = useOpen(`told:${name}`);
  return (
    <>
      <button type="button" className="chat-line chat-told" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} size={12} /><span className="t3 clip">{t("told.toAgent")}</span>
      </button>
      {open && <div className="chat-thought">{text}</div>}
    </>
  );
}
