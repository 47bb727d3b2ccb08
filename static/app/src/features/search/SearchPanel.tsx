import { useEffect, useMemo, useRef, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";

import { errorText } from "@/api/client";
import { LONGEST, type Hit } from "@/api/search";
import type { Workspace } from "@/api/workspaces";
import { when } from "@/features/sessions/when";
import { folderName } from "@/features/workspace";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { Skeletons } from "@/shared/ui/Skeletons";
import { openEntry } from "@/shell/chatPort";
import { grouped, type Group } from "./hits";
import { Marked } from "./Marked";
import { useHits } from "./useHits";
import { useSearch, type Scope } from "./store";
import "./search.css";

const PAGE = 30;

interface Props {
  workspace: Workspace;
  /** After a hit was opened: a drawer or a phone's page makes room for the chat. */
  onPick?: (() => void) | undefined;
}

/** What was said in all sessions this person may see: newest first, by session. Up and Down walk the hits. */
export function SearchPanel({ workspace, onPick }: Props) {
  const { t } = useTranslation(["search", "common", "sessions"]);
  const { text, scope, archived, wished } = useSearch();
  const list = useHits(text, { projectId: scope === "folder" ? workspace.path : null, includeArchived: archived }, PAGE);
  const groups = useMemo(() => grouped(list.hits), [list.hits]);
  const field = useRef<HTMLInputElement>(null);
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [wished]);

  const open = (hit: Hit): void => {
    openEntry(hit.workspacePath, hit.sessionId, hit.entryId, list.terms);
    onPick?.();
  };
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0 || event.nativeEvent.isComposing) return;
    const rows = [...(body.current?.querySelectorAll<HTMLElement>(".search-hit") ?? [])];
    const at = rows.indexOf(document.activeElement as HTMLElement) + by;
    if (at < 0 && by < 0) field.current?.focus();
    else rows[Math.min(at, rows.length - 1)]?.focus();
    event.preventDefault();
  };
  const idle = list.asked === "";
  const none = !idle && list.isSuccess && !list.isPlaceholderData && groups.length === 0;

  return (
    <section className="search" aria-label={t("title")} onKeyDown={onKey}>
      <div className="side-head">{t("title")}{list.isFetching && !idle && <span className="t3 sm">{t("searching")}</span>}</div>
      <div className="search-ask">
        <div className="field"><Icon name="search" size={14} />
          <input ref={field} type="search" value={text} maxLength={LONGEST} aria-label={t("field")} placeholder={t("field")} onChange={(event) => useSearch.setState({ text: event.target.value })}
            onKeyDown={(event) => { if (event.key === "Escape" && text !== "") { event.stopPropagation(); useSearch.setState({ text: "" }); } }} />
        </div>
        <div className="search-where">
          <Segments<Scope> label={t("where")} value={scope} onChange={(next) => useSearch.setState({ scope: next })} options={[{ value: "all", label: t("all") }, { value: "folder", label: t("folder") }]} />
          <label className="search-check"><input type="checkbox" checked={archived} onChange={(event) => useSearch.setState({ archived: event.target.checked })} />{t("archived")}</label>
        </div>
      </div>
      <div className="search-body" ref={body} aria-busy={list.isFetching}>
        {idle && <div className="side-note"><p className="t3 sm">{t("hint")}</p></div>}
        {!idle && list.isPending && <Skeletons rows={4} height={44} />}
        {list.isError && <div className="side-note" role="alert"><p>{t("failed")}</p><p className="t3 sm">{errorText(list.error)}</p><button type="button" className="btn small" onClick={() => void list.refetch()}>{t("common:act.retry")}</button></div>}
        {none && <div className="side-note" role="status"><p>{t("none", { text: list.asked })}</p><p className="t3 sm">{t("noneHint")}</p></div>}
        {groups.map((group) => <Session key={group.key} group={group} here={workspace.path} terms={list.terms} onOpen={open} />)}
        {list.hasNextPage && !idle && <button type="button" className="btn ghost small search-more" disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{t(list.isFetchingNextPage ? "searching" : "more")}</button>}
      </div>
    </section>
  );
}

interface SessionProps {
  group: Group;
  here: string;
  terms: readonly string[];
  onOpen: (hit: Hit) => void;
}

function Session({ group, here, terms, onOpen }: SessionProps) {
  const { t } = useTranslation(["search", "sessions"]);
  const title = group.title || t("sessions:untitled");
  return (
    <section className="search-group" aria-label={title}>
      <h3 className="clip" title={title}><Icon name={group.sessionId.includes(">") ? "users" : "chat"} size={12} /><span className="clip">{title}</span>
        {group.workspacePath !== here && <span className="chip" title={group.workspacePath}><Icon name="folder" size={10} />{folderName(group.workspacePath)}</span>}
      </h3>
      <ul>
        {group.hits.map((hit) => (
          <li key={hit.entryId}>
            <button type="button" className="search-hit" onClick={() => onOpen(hit)}>
              <span className="search-words"><Marked text={hit.snippet} terms={terms} /></span>
              <span className="t3 xs num">{when(hit.timestamp, Date.now())}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
