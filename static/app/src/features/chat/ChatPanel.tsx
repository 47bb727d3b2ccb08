/** The chat of one workspace: tabs, log, run bar, queue, composer. Mounted once; the frame moves it about. */
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useShallow } from "zustand/react/shallow";

import type { Workspace } from "@/api/workspaces";
import { attachGoal, GoalBanner } from "@/features/goal";
import { useRegister, type Action } from "@/shared/keys/actions";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { isDemo } from "./api";
import "./chat.css";
import { Log } from "./Log";
import { busy } from "./model";
import { Composer } from "./parts/Composer";
import { ForkDialog } from "./parts/ForkDialog";
import { FindBar } from "./parts/FindBar";
import { LiveRegion } from "./parts/LiveRegion";
import { QueueStrip } from "./parts/QueueStrip";
import { ShownMedia } from "./parts/ShownMedia";
import { RunBar } from "./parts/RunBar";
import { Tabs } from "./parts/Tabs";
import { useNow } from "./parts/tick";
import {
  activate, agentOf, attachChat, clearTrouble, clearUndo, closeTab, focusComposer, giveUpTarget, interrupt, loadTowardsTarget, openDraft, openFind, openSession, reload,
  restoreExchange, send, stop, titleOf, useChat, viewOf,
} from "./store";
import { parentOf } from "./tabs";

interface Props {
  workspace: Workspace;
  /** Where an error about a key or a model leads to. */
  onModelSettings?: () => void;
}

export function ChatPanel({ workspace, onModelSettings }: Props) {
  useEffect(() => attachChat(workspace.path), [workspace.path]);
  useEffect(() => attachGoal(workspace.path), [workspace.path]);
  const attached = useChat((state) => state.workspace === workspace.path);
  const active = useChat((state) => state.active);
  if (!attached) return <section className="chat" />;
  return <Panel key={workspace.path} workspace={workspace.path} id={active} level={workspace.level} onModelSettings={onModelSettings} />;
}

interface PanelProps {
  workspace: string;
  id: string;
  level: Workspace["level"];
  onModelSettings: (() => void) | undefined;
}

function Panel({ workspace, id, level, onModelSettings }: PanelProps) {
  const canWrite = level !== "readonly";
  const { t } = useTranslation("chat");
  // Facts only: the panel does not render again while text streams, its parts look at what they show.
  const draft = useChat((state) => state.tabs.find((tab) => tab.id === id)?.draft ?? true);
  const facts = useChat(
    useShallow((state) => {
      const view = viewOf(state, id);
      return { archived: view.archived, loaded: view.loaded, running: busy(view), empty: view.past.length + view.live.length + view.pending.length + view.executing.length === 0 };
    }),
  );
  const finding = useChat((state) => state.finding === id);
  const armed = useArmedEscape(id, facts.running, canWrite);
  useKeys(id, facts.running);
  const parent = parentOf(id);
  const writes = canWrite && !facts.archived && parent === null;

  return (
    <section className="chat" aria-label={t("region")} id="chat-panel">
      <Tabs />
      {parent !== null && <SubAgentBar id={id} parent={parent} />}
      {finding && <FindBar key={`find-${id}`} id={id} />}
      {draft && facts.empty ? <Empty id={id} canWrite={writes} /> : !facts.loaded && facts.empty ? <Loading id={id} /> : <Log key={id} sessionId={id} canWrite={writes} mayStop={canWrite && !facts.archived} onModelSettings={onModelSettings} />}
      <div className="chat-dock">
        <Resyncing id={id} />
        <Hunting id={id} />
        <Trouble />
        <UndoBar />
        <GoalBanner active={id} onOpen={openSession} />
        <div className="chat-stack">
          <RunBar key={id} id={id} armed={armed} canWrite={canWrite && !facts.archived} />
          <QueueStrip key={`queue-${id}`} id={id} canWrite={writes} />
          {writes ? (
            <Composer key={`composer-${id}`} id={id} draft={draft} workspace={workspace} level={level} />
          ) : (
            <div className="chat-composer chat-composer-off"><Icon name="eye" /><span>{facts.archived ? t("composer.archived") : parent !== null ? t("composer.subAgent") : t("composer.readOnly")}</span></div>
          )}
        </div>
      </div>
      <ForkDialog />
      <ShownMedia />
      <LiveRegion key={`live-${id}`} id={id} />
    </section>
  );
}

/** How long the first Esc stays armed, in ms. */
const ARMED_FOR = 2000;

/** Esc arms, a second Esc within two seconds interrupts; in a field with text it does nothing. */
function useArmedEscape(id: string, running: boolean, canWrite: boolean): boolean {
  const [armed, setArmed] = useState(false);
  const state = useRef({ id, running, canWrite, armed });
  state.current = { id, running, canWrite, armed };
  useEffect(() => {
    if (!armed) return undefined;
    const timer = window.setTimeout(() => setArmed(false), ARMED_FOR);
    return () => window.clearTimeout(timer);
  }, [armed]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const { id: session, running: runs, canWrite: may, armed: isArmed } = state.current;
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || !may || !runs) return;
      const target = event.target as HTMLElement | null;
      if (document.querySelector('[aria-modal="true"], [role="menu"]')) return; // a popup closes first
      if (target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement) {
        if (target.id !== "composer" || target.value !== "") return;
      } else if (target !== document.body && !target?.closest(".chat")) return;
      event.preventDefault();
      setArmed(!isArmed);
      if (isArmed) interrupt(session);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
  return armed && running;
}

/** A page may cover the chat: then Ctrl+F is the browser's. */
const chatIsShown = (): boolean => document.querySelector("#chat-panel .chat-log")?.checkVisibility() ?? false;

function useKeys(id: string, running: boolean): void {
  const { t } = useTranslation("chat");
  const count = useChat((state) => state.tabs.length);
  const actions = useMemo<Action[]>(() => {
    const group = t("keys.group");
    return [
      { id: "chat.new", label: t("keys.newSession"), group, run: () => openDraft() },
      { id: "chat.close", label: t("keys.closeTab"), group, keys: ["Alt+W"], run: () => closeTab(useChat.getState().active) },
      { id: "chat.focus", label: t("keys.focus"), group, run: focusComposer },
      { id: "chat.find", label: t("keys.find"), group, keys: ["Mod+F"], when: chatIsShown, run: openFind },
      ...(running ? [{ id: "chat.stop", label: t("keys.stop"), group, run: () => stop(id) }] : []),
      ...Array.from({ length: Math.min(9, count) }, (_, place) => ({
        id: `chat.tab${place + 1}`,
        label: t("keys.tab", { n: place + 1 }),
        group,
        keys: [`Alt+Digit${place + 1}`],
        inPalette: false,
        run: () => {
          const tab = useChat.getState().tabs[place];
          if (tab) activate(tab.id);
        },
      })),
    ];
  }, [t, count, running, id]);
  useRegister(actions);
}

function Empty({ id, canWrite }: { id: string; canWrite: boolean }) {
  const { t } = useTranslation("chat");
  const agents = useChat((state) => state.agents);
  const agentId = useChat((state) => agentOf(state, id));
  const agent = agents?.find((one) => one.id === agentId);
  const demo = isDemo(agent);
  return (
    <div className="chat-empty">
      <div className="chat-empty-mark" aria-hidden="true" />
      <h2>{t("empty.title")}</h2>
      <p className="t2">{demo ? t("empty.demo") : agent ? t("empty.hint", { agent: agent.name }) : " "}</p>
      {demo && canWrite && (
        <div className="chat-suggestions">
          {(["folder", "todo", "error"] as const).map((name) => (
            <button key={name} type="button" className="chip outline chat-suggestion" onClick={() => send(id, t(`suggest.${name}`))}>{t(`suggest.${name}`)}</button>
          ))}
        </div>
      )}
    </div>
  );
}

/** Nothing for 150 ms, then rows of the final height; "still loading" after 3 s, Retry after 30 s. */
function Loading({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const [since] = useState(() => Date.now());
  const [shown, setShown] = useState(false);
  const now = useNow();
  useEffect(() => {
    const timer = window.setTimeout(() => setShown(true), 150);
    return () => window.clearTimeout(timer);
  }, []);
  const waited = now - since;
  return (
    <div className="chat-log-frame" aria-busy="true">
      {shown && (
        <div className="chat-column chat-skeleton" role="status" aria-label={t("load.loading")}>
          <div className="bone user" /><div className="bone w80" /><div className="bone w60" /><div className="bone card" /><div className="bone w70" />
          {waited > 30_000 ? (
            <p className="t3">{t("load.slow")} <button type="button" className="btn small" onClick={() => reload(id)}>{t("load.retry")}</button></p>
          ) : waited > 3000 ? <p className="t3">{t("load.still")}</p> : null}
        </div>
      )}
    </div>
  );
}

/** The server has promised a fresh copy; say so only when it takes longer than a blink. */
function Resyncing({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const since = useChat((state) => viewOf(state, id).resyncing);
  const now = useNow(since !== null);
  if (since === null || now - since < 2000) return null;
  return <div className="chat-bar" role="status"><Ring state="wait" labelled={false} />{t("load.resync")}</div>;
}

/** The log of a sub-agent: whose it is, and the way back. */
function SubAgentBar({ id, parent }: { id: string; parent: string }) {
  const { t } = useTranslation("chat");
  const name = useChat((state) => titleOf(state, id)) ?? t("agents.one");
  const above = useChat((state) => titleOf(state, parent)) ?? t("tabs.untitled");
  return (
    <nav className="chat-crumb" aria-label={t("agents.crumb")}>
      <button type="button" className="link-btn clip" onClick={() => openSession(parent)}><Icon name="left" size={12} />{above}</button>
      <span className="t3" aria-hidden="true">/</span><Icon name="users" size={12} className="t3" /><b className="clip">{name}</b>
    </nav>
  );
}

/** A message that was chosen is looked for; how long that takes depends on how far back it is. */
function Hunting({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const hunting = useChat((state) => state.target?.sessionId === id && state.target.workspace === state.workspace);
  const failed = useChat((state) => state.loadingOlder[id] === "failed");
  if (!hunting) return null;
  return (
    <div className="chat-bar chat-hunting" role="status">
      <Ring state={failed ? "err" : "wait"} labelled={false} /><span className="grow">{t(failed ? "load.olderFailed" : "find.looking")}</span>
      {failed && <button type="button" className="btn small" onClick={() => void loadTowardsTarget(id)}>{t("load.retry")}</button>}
      <button type="button" className="icon-btn small" aria-label={t("trouble.dismiss")} title={t("trouble.dismiss")} onClick={giveUpTarget}><Icon name="x" size={12} /></button>
    </div>
  );
}

function Trouble() {
  const { t } = useTranslation("chat");
  const trouble = useChat((state) => state.trouble);
  if (!trouble) return null;
  return (
    <div className="chat-bar err" role="alert">
      <Icon name="alert" size={14} /><span className="grow">{trouble.text}</span>
      <button type="button" className="icon-btn small" aria-label={t("trouble.dismiss")} title={t("trouble.dismiss")} onClick={clearTrouble}><Icon name="x" size={12} /></button>
    </div>
  );
}

function UndoBar() {
  const { t } = useTranslation("chat");
  const undo = useChat((state) => state.undo);
  useEffect(() => {
    if (!undo) return undefined;
    const timer = window.setTimeout(clearUndo, Math.max(0, undo.until - Date.now()));
    return () => window.clearTimeout(timer);
  }, [undo]);
  if (!undo) return null;
  return (
    <div className="chat-bar" role="status">
      <span className="grow">{t("undo.deleted")}</span>
      <button type="button" className="btn ghost small" onClick={() => restoreExchange(undo.sessionId, undo.entryId)}><Icon name="undo" size={12} />{t("undo.undo")}</button>
    </div>
  );
}
