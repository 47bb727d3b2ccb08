import { useId, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { Ring, type RingState } from "@/shared/ui/Ring";
import { gist, isShort, type Callout as Told, type Ending, type Sender } from "../callouts";
import { timeOfDay } from "../format";
import { Markdown } from "../markdown/Markdown";
import type { UserItem } from "../model";
import { openLinked, useChat } from "../store";
import { MessageActions } from "./MessageActions";
import { useOpen } from "./memory";

interface FrameProps {
  name: string;
  tone: "told" | "summary" | "skill";
  mark: ReactNode;
  title: string;
  body: string;
  /** Behind the title, inside the head. */
  more?: ReactNode;
  /** Beside the head: links and actions. */
  actions?: ReactNode;
}

/** A box that is nobody's own words: a head that says whose, a body that folds when it is long. */
export function CalloutFrame({ name, tone, mark, title, body, more, actions }: FrameProps) {
  const short = tone === "told" && isShort(body);
  const [open, setOpen] = useOpen(`callout:${name}`);
  const shown = short || open;
  const id = useId();
  const head = (
    <>
      {mark}
      <b className="chat-callout-title">{title}</b>
      {more}
      {!shown && <span className="t2 clip grow chat-callout-gist">{gist(body)}</span>}
      {shown && <span className="grow" />}
    </>
  );
  return (
    <div className={`chat-callout ${tone}`}>
      <div className="chat-callout-bar">
        {short ? <div className="chat-callout-head">{head}</div> : (
          <button type="button" className="chat-callout-head" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>{head}<Icon name={open ? "down" : "right"} size={14} className="t3" /></button>
        )}
        {actions}
      </div>
      {shown && body.trim() !== "" && <div id={id} className="chat-callout-body"><Markdown text={body} /></div>}
    </div>
  );
}

const RINGS: Record<Ending, RingState> = { done: "ok", working: "run", aborted: "err" };
const ICONS: Record<Sender, IconName> = {
  report: "users", interim: "users", task: "agent", relay: "relay", relayReport: "relay", relayInterim: "relay", cron: "clock", goal: "spark", nudge: "server", skill: "skill",
};

interface Props {
  told: Told;
  item: UserItem;
  sessionId: string;
  canWrite: boolean;
  busy: boolean;
}

export function ToldCallout({ told, item, sessionId, canWrite, busy }: Props) {
  const { t, i18n } = useTranslation("chat");
  const name = told.name || told.session || t("told.somebody");
  return (
    <CalloutFrame name={item.key} tone={told.sender === "skill" ? "skill" : "told"} title={t(`told.${told.sender}`, { name })} body={told.body}
      mark={told.ending && told.ending !== "working" ? <Ring state={RINGS[told.ending]} /> : <Icon name={ICONS[told.sender]} size={14} />}
      more={told.ending === "aborted" ? <span className="chip err">{t("told.aborted")}</span> : told.ending === "working" ? <span className="chip">{t("told.working")}</span> : undefined}
      actions={
        <>
          <MessageActions item={item} sessionId={sessionId} canWrite={canWrite} busy={busy} own={told.body} again={false} />
          {told.session && <OpenSession session={told.session} workspace={told.workspace} name={name} />}
          {item.at > 0 && <time className="t3 xs num" dateTime={new Date(item.at).toISOString()}>{timeOfDay(item.at, i18n.language)}</time>}
        </>
      } />
  );
}

/** The way into another session: of this folder, or of another one, which is opened then. */
export function OpenSession({ session, workspace, name }: { session: string; workspace: string | null; name: string }) {
  const { t } = useTranslation("chat");
  const here = useChat((state) => state.workspace);
  const open = (): void => {
    const place = workspace ?? here;
    if (place !== null) openLinked(place, session);
  };
  const elsewhere = workspace !== null && workspace !== here;
  return (
    <button type="button" className="btn ghost tiny chat-open" title={elsewhere ? t("told.openIn", { folder: workspace }) : t("told.openHint", { name })} onClick={open}>
      {t("told.open")}<Icon name="aright" size={12} />
    </button>
  );
}
