import { Menu, Modal } from "@mantine/core";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { TFunction } from "i18next";
import { errorText } from "@/api/client";
import { deleteSession, renameSession, type SessionRow } from "@/api/sessions";
import type { Workspace } from "@/api/workspaces";
import { copyText } from "@/shared/copy";
import { money } from "@/shared/money";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { Skeletons } from "@/shared/ui/Skeletons";
import { ExportItems, openDraft, openSession, useActiveSession, useRunningSessions } from "@/shell/chatPort";
import { openSearch } from "@/shell/openSearch";
import { showPage } from "@/shell/store";
import { filterRows, modelTail, rowState, without, withTitles } from "./rows";
import { when } from "./when";
import { usePatchRows, useSessions } from "./useSessions";
import "./sessions.css";

interface Props {
  workspace: Workspace;
  /** After a row was opened: a drawer closes itself. */
  onPick?: () => void;
  /** Something to do before the page of handed-on tasks is shown. */
  onTasks?: () => void;
}

/** Sessions of the workspace: state, title, turns, time. Up, Down, Enter; F2 renames; Delete asks. */
export function SessionList({ workspace, onPick, onTasks }: Props) {
  const { t } = useTranslation(["sessions", "common"]);
  const list = useSessions(workspace.path);
  const patch = usePatchRows(workspace.path);
  const running = useRunningSessions();
  const active = useActiveSession();
  const [text, setText] = useState("");
  const [finding, setFinding] = useState(false);
  const [renaming, setRenaming] = useState<string | null>(null);
  const [deletingId, setDeletingId] = useState<string | null>(null);
  const [wished, setWished] = useState<ReadonlyMap<string, string>>(new Map()); // titles on their way to the server
  const all = useMemo(() => withTitles(list.rows, wished), [list.rows, wished]);
  const rows = filterRows(all, text);
  const deleting = all.find((row) => row.id === deletingId) ?? null;
  const mayWrite = workspace.level !== "readonly";
  const body = useRef<HTMLDivElement>(null);
  const end = useRef<HTMLDivElement>(null);
  const toFocus = useRef<string | null>(null);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;

  useEffect(() => {
    const element = end.current;
    if (!element || !hasNextPage || isFetchingNextPage) return undefined;
    const observer = new IntersectionObserver(([entry]) => { if (entry?.isIntersecting) void fetchNextPage(); }, { root: body.current, rootMargin: "200px" });
    observer.observe(element);
    return () => observer.disconnect();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage, rows.length]);

  const pick = (id: string) => {
    openSession(id);
    onPick?.();
  };

  const rename = async (row: SessionRow, title: string) => {
    const wanted = title.trim();
    if (!wanted || wanted === row.title) return;
    setWished((old) => new Map(old).set(row.id, wanted));
    try {
      await renameSession(workspace.path, row.id, wanted);
      await patch((old) => old.map((one) => (one.id === row.id ? { ...one, title: wanted } : one)));
    } catch (cause) {
      toast.error(errorText(cause));
    }
    setWished((old) => without(old, row.id));
  };

  /** The field of a title is gone: a keyboard goes on at its row. */
  const leaveRename = (row: SessionRow, byKey: boolean) => {
    setRenaming(null);
    if (byKey) toFocus.current = row.id;
  };

  const remove = async (row: SessionRow) => {
    const at = rows.findIndex((one) => one.id === row.id);
    setDeletingId(null);
    try {
      await deleteSession(workspace.path, row.id);
      await patch((old) => old.filter((one) => one.id !== row.id));
      toFocus.current = (rows[at + 1] ?? rows[at - 1])?.id ?? null;
    } catch (cause) {
      toast.error(errorText(cause));
    }
  };

  // Once the row is there; never away from where a person has gone meanwhile.
  useLayoutEffect(() => {
    const id = toFocus.current;
    if (id === null || renaming) return;
    toFocus.current = null;
    const here = document.activeElement;
    if (here === null || here === document.body || here.closest('[role="dialog"]')) rowElement(body.current, id)?.focus();
  });

  const onKey = (event: KeyboardEvent<HTMLDivElement>) => {
    const at = rows.findIndex((row) => row.id === (document.activeElement as HTMLElement | null)?.dataset.session);
    const row = rows[at];
    if (event.key === "ArrowDown" || event.key === "j") focusRow(rows[Math.min(rows.length - 1, at + 1)]);
    else if (event.key === "ArrowUp" || event.key === "k") focusRow(rows[Math.max(0, at - 1)]);
    else if (event.key === "F2" && row && mayWrite) setRenaming(row.id);
    else if (event.key === "Delete" && row && mayWrite) setDeletingId(row.id);
    else return;
    event.preventDefault();
  };
  const focusRow = (row?: SessionRow) => row && rowElement(body.current, row.id)?.focus();
  const titleOf = (row: SessionRow) => row.title || t("untitled");
  const firstFocusable = rows.some((row) => row.id === active) ? active : rows[0]?.id;

  return (
    <section className="sessions" aria-label={t("title")}>
      <div className="side-head">
        {t("title")}{list.rows.length > 0 && <span className="count num">{list.rows.length}{hasNextPage ? "+" : ""}</span>}<span className="grow" />
        <button className="icon-btn small" aria-label={t("search")} title={t("search")} aria-pressed={finding} onClick={() => { setFinding(!finding); setText(""); }}><Icon name="search" size={14} /></button>
        <button className="icon-btn small" aria-label={t("tasks")} title={t("tasks")} onClick={() => { onTasks?.(); showPage("relay"); }}><Icon name="relay" size={14} /></button>
        {mayWrite && <button className="icon-btn small" aria-label={t("new")} title={t("new")} onClick={() => { openDraft(); onPick?.(); }}><Icon name="plus" size={14} /></button>}
      </div>
      {finding && (
        <div className="sessions-find"><div className="field"><Icon name="search" size={14} />
          <input autoFocus aria-label={t("search")} placeholder={t("search")} value={text} onChange={(event) => setText(event.target.value)} onKeyDown={(event) => { if (event.key === "Escape") { setFinding(false); setText(""); } }} />
        </div></div>
      )}
      <div className="sessions-body" ref={body} onKeyDown={renaming ? undefined : onKey}>
        {list.isPending && <Skeletons rows={5} height={44} />}
        {list.isError && list.rows.length === 0 && (
          <div className="side-note" role="alert"><p>{t("failed")}</p><p className="t3 sm">{errorText(list.error)}</p><button className="btn small" onClick={() => void list.refetch()}>{t("common:act.retry")}</button></div>
        )}
        {list.isSuccess && list.rows.length === 0 && <div className="side-note"><Icon name="chat" size={18} /><p>{t("empty")}</p><p className="t3 sm">{t("emptyText")}</p></div>}
        {text.trim() !== "" && <button type="button" className="btn ghost small sessions-deeper" onClick={() => { onPick?.(); openSearch(text.trim()); }}><Icon name="search" size={12} /><span className="clip">{t("inMessages", { text: text.trim() })}</span></button>}
        {list.rows.length > 0 && rows.length === 0 && <div className="side-note"><p className="t3 sm">{t("none")}</p></div>}
        <ul>
          {rows.map((row) => {
            const state = rowState(row, running);
            return (
              <li key={row.id} className={row.id === active ? "session on" : "session"}>
                {renaming === row.id ? (
                  <Rename title={row.title} label={t("renameField")} onDone={(title, byKey) => { leaveRename(row, byKey); void rename(row, title); }} onCancel={() => leaveRename(row, true)} />
                ) : (
                  <button className="session-open" data-session={row.id} tabIndex={row.id === firstFocusable ? 0 : -1} aria-current={row.id === active ? "true" : undefined} onClick={() => pick(row.id)}>
                    <Ring state={state} />
                    <span className="grow"><span className={state === "new" ? "session-title clip unseen" : "session-title clip"}>{row.goalSessionId !== null && <span role="img" aria-label={t("forGoal")} title={t("forGoal")}>🎯 </span>}{titleOf(row)}</span>
                      <span className={state === "warn" ? "session-meta clip warn" : "session-meta clip t3"}>{meta(t, row, state === "run")}</span></span>
                  </button>
                )}
                {renaming !== row.id && (
                  <Menu position="bottom-end" classNames={{ dropdown: "pop" }} width={210}>
                    <Menu.Target><button className="icon-btn small session-more" tabIndex={row.id === firstFocusable ? 0 : -1} aria-label={t("more", { title: titleOf(row) })}><Icon name="more" size={14} /></button></Menu.Target>
                    <Menu.Dropdown>
                      {mayWrite && <Menu.Item leftSection={<Icon name="pencil" size={14} />} rightSection={<kbd className="kbd">F2</kbd>} onClick={() => setRenaming(row.id)}>{t("rename")}</Menu.Item>}
                      <Menu.Item leftSection={<Icon name="copy" size={14} />} onClick={() => void copyText(row.id)}>{t("copyId")}</Menu.Item>
                      <ExportItems workspace={workspace.path} id={row.id} />
                      {mayWrite && <Menu.Item leftSection={<Icon name="trash" size={14} />} color="red" onClick={() => setDeletingId(row.id)}>{t("delete")}</Menu.Item>}
                    </Menu.Dropdown>
                  </Menu>
                )}
              </li>
            );
          })}
        </ul>
        {isFetchingNextPage && <Skeletons rows={2} height={44} />}
        {hasNextPage && !text && <div ref={end}><button className="btn ghost small sessions-next" onClick={() => void fetchNextPage()}>{t("loadMore")}</button></div>}
        {list.capped && <p className="side-note t3 sm">{t("capped")}</p>}
      </div>
      <Modal opened={deleting !== null} onClose={() => setDeletingId(null)} title={deleting ? t("deleteTitle", { title: titleOf(deleting) }) : ""} classNames={{ title: "dialog-title" }} size={440} closeButtonProps={{ "aria-label": t("common:act.close") }}>
        <p className="t2 dialog-text">{deleting?.descendants ? t("deleteText", { count: deleting.descendants }) : t("deleteAlone")}</p>
        <div className="dialog-foot"><button className="btn" onClick={() => setDeletingId(null)}>{t("common:act.cancel")}</button><button className="btn danger" data-autofocus onClick={() => deleting && void remove(deleting)}>{t("deleteButton")}</button></div>
      </Modal>
    </section>
  );
}

const rowElement = (list: HTMLElement | null, id: string) => list?.querySelector<HTMLElement>(`[data-session="${CSS.escape(id)}"]`);

function meta(t: TFunction<["sessions", "common"]>, row: SessionRow, running: boolean): string {
  if (row.parkedAt) return t("parked");
  const parts = [t("turns", { count: row.exchangeCount })];
  if (running) parts.push(t(row.compacting ? "compacting" : "running"));
  else parts.push(when(row.updatedAt, Date.now()));
  if (row.costMicros) parts.push(money(row.costMicros, row.currency ?? "")); // null = unknown, 0 = the demo: nothing to say
  if (row.archivedAt) parts.push(t("archived"));
  else if (row.stoppedAt) parts.push(t("stopped"));
  if (row.model) parts.push(modelTail(row.model));
  return parts.join(" · ");
}

function Rename({ title, label, onDone, onCancel }: { title: string; label: string; onDone: (title: string, byKey: boolean) => void; onCancel: () => void }) {
  const [text, setText] = useState(title);
  const left = useRef(false); // Enter and Esc also blur: only the first one counts
  const leave = (act: () => void) => {
    if (left.current) return;
    left.current = true;
    act();
  };
  return (
    <div className="field session-rename">
      <input autoFocus aria-label={label} value={text} maxLength={200} onFocus={(event) => event.target.select()} onChange={(event) => setText(event.target.value)} onBlur={() => leave(() => onDone(text, false))}
        onKeyDown={(event) => { if (event.key === "Enter" && !event.nativeEvent.isComposing) leave(() => onDone(text, true)); if (event.key === "Escape") leave(onCancel); }} />
    </div>
  );
}
