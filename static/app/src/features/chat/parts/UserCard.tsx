import { memo, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { calloutOf } from "../callouts";
import { timeOfDay } from "../format";
import { SUMMARY } from "../log";
import { pictureAt, takeMedia } from "../media";
import { splitReferences } from "../mentions";
import type { SummaryItem, UserItem } from "../model";
import { discard, restoreExchange, sendAgain } from "../store";
import { CalloutFrame, ToldCallout } from "./Callout";
import { MediaChips } from "./MediaChips";
import { MessageActions } from "./MessageActions";
import { useOpen } from "./memory";
import { useNow } from "./tick";

const CLAMP = 6; // lines

interface Props {
  item: UserItem;
  sessionId: string;
  canWrite: boolean;
  busy: boolean;
}

export const UserCard = memo(function UserCard({ item, sessionId, canWrite, busy }: Props) {
  const { t, i18n } = useTranslation("chat");
  const told = useMemo(() => calloutOf(item), [item]);
  if (item.deleted) return <Deleted item={item} sessionId={sessionId} canWrite={canWrite} />;
  if (told) return <ToldCallout told={told} item={item} sessionId={sessionId} canWrite={canWrite} busy={busy} />;
  const { own: words, media: noted } = takeMedia(item.text);
  const { own, paths } = splitReferences(words);
  const stored = item.images ? [] : (item.files ?? []).filter((path) => noted.every((media) => media.path !== path));
  const media = [...stored.map(pictureAt), ...noted];
  const origin = originWords(item, t);
  return (
    <div className={`chat-user${item.state === "failed" ? " chat-user-failed" : ""}`}>
      <div className="chat-user-card">
        {origin && <div className="chat-user-origin"><Icon name="plane" size={12} />{origin}</div>}
        <div className="chat-user-body">
          <Clamped name={item.key} text={own} />
          <Sending item={item} />
          {item.at > 0 && item.state === "sent" && <time className="t3 xs num" dateTime={new Date(item.at).toISOString()}>{timeOfDay(item.at, i18n.language)}</time>}
        </div>
        {(item.images?.length ?? 0) + media.length + paths.length > 0 && (
          <div className="chat-user-foot">
            {paths.map((path) => <span key={`@${path}`} className="chip" title={path}><Icon name="file" size={12} />{path}</span>)}
            {item.images?.map((image) => <Thumb key={image.id} url={image.url} />)}
            {media.length > 0 && <MediaChips media={media} settled />}
          </div>
        )}
        <MessageActions item={item} sessionId={sessionId} canWrite={canWrite} busy={busy} own={own} again />
      </div>
      {item.state === "failed" && (
        <div className="chat-failed" role="alert">
          <Icon name="alert" size={14} />
          <span className="grow">{item.reason ? t("user.refused", { reason: item.reason }) : t("user.failed")}</span>
          <button type="button" className="btn ghost small" onClick={() => discard(sessionId, item.clientMsgId!)}>{t("user.discard")}</button>
          <button type="button" className="btn small" onClick={() => sendAgain(sessionId, item)}><Icon name="retry" size={12} />{t("user.again")}</button>
        </div>
      )}
    </div>
  );
});

type Translate = ReturnType<typeof useTranslation<"chat">>["t"];

/** A message that a person wrote elsewhere: where. */
function originWords(item: UserItem, t: Translate): string | null {
  if (item.origin?.kind !== "channel") return null;
  return t("told.channel", { name: String(item.origin.name ?? item.origin.chat ?? item.origin.channel ?? "") });
}

/** Clock after 1 s, "waiting for the link" after 5 s; the deadline makes it red (the link decides that). */
function Sending({ item }: { item: UserItem }) {
  const { t } = useTranslation("chat");
  const pending = item.state === "sending";
  const now = useNow(pending);
  if (!pending || now < item.at + 1000) return null;
  const waiting = now >= item.at + 5000;
  return <span className="t3 xs chat-sending" role="status"><Icon name="clock" size={12} />{waiting ? t("user.waiting") : t("user.sending")}</span>;
}

function Thumb({ url }: { url: string }) {
  const { t } = useTranslation("chat");
  const [large, setLarge] = useState(false);
  return (
    <button type="button" className={large ? "chat-thumb large" : "chat-thumb"} onClick={() => setLarge(!large)} title={t("image.zoom")} aria-label={t("image.zoom")}>
      <img src={url} alt="" />
    </button>
  );
}

/** Set once, when the text is known; sticking at the top does not change it. */
function Clamped({ name, text }: { name: string; text: string }) {
  const { t } = useTranslation("chat");
  const [open, setOpen] = useOpen(`clamp:${name}`);
  const body = useRef<HTMLParagraphElement>(null);
  const [long, setLong] = useState(() => text.length > 1200 || text.split("\n").length > CLAMP);
  useLayoutEffect(() => {
    const element = body.current;
    if (element && !open) setLong(element.scrollHeight > element.clientHeight + 2);
  }, [text, open]);
  return (
    <div className="grow">
      <p ref={body} className={open ? "chat-user-text" : "chat-user-text clamped"} style={{ "--clamp": CLAMP } as React.CSSProperties}>{text}</p>
      {(long || open) && <button type="button" className="link-btn sm" aria-expanded={open} onClick={() => setOpen(!open)}>{open ? t("user.less") : t("user.more")}</button>}
    </div>
  );
}

function Deleted({ item, sessionId, canWrite }: Omit<Props, "busy">) {
  const { t } = useTranslation("chat");
  return (
    <div className="chat-deleted">
      <s className="clip">{takeMedia(item.text).own.split("\n", 1)[0]}</s>
      <span className="chip">{t("user.deleted")}</span>
      {canWrite && item.entryId !== undefined && <button type="button" className="btn ghost tiny" onClick={() => restoreExchange(sessionId, item.entryId!)}>{t("user.restore")}</button>}
    </div>
  );
}

export const SummaryCard = memo(function SummaryCard({ item }: { item: SummaryItem }) {
  const { t } = useTranslation("chat");
  const match = SUMMARY.exec(item.text);
  return <CalloutFrame name={item.key} tone="summary" mark={<Icon name="list" size={14} />} title={t("told.summary", { n: match?.[1] ?? "" })} body={match ? item.text.slice(match[0].length) : item.text} />;
});
