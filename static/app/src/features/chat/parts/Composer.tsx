import { Menu } from "@mantine/core";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useShallow } from "zustand/react/shallow";

import type { Workspace } from "@/api/workspaces";
import { useLed } from "@/features/goal";
import { Icon } from "@/shared/ui/Icon";
import { useLinkStatus } from "@/socket";
import { isDemo, modelName } from "../api";
import { count } from "../format";
import { attach, imagesIn, MOST_IMAGES, type Attachment } from "../images";
import { busy, type View } from "../model";
import { completions, parseLine, type Choice } from "../commands";
import { withReferences } from "../mentions";
import { useCommandList, useCommands } from "../useCommands";
import { useMentions } from "../useMentions";
import { agentOf, chooseAgent, editQueued, loadDraft, onDraftText, saveDraft, send, setEditing, useChat, viewOf } from "../store";
import { newestUserText } from "./newest";
import { useMedia } from "@/shared/useMedia";

interface Props {
  id: string;
  draft: boolean;
  workspace: string;
  /** What the person may do here, and so whatever they start; null = everything. */
  level: Workspace["level"];
}

/** One message on its way into words. Enter sends, Shift+Enter breaks the line, an IME keeps its own Enter. */
export function Composer({ id, draft, workspace, level }: Props) {
  const { t } = useTranslation(["chat", "goal"]);
  const working = useChat((state) => busy(viewOf(state, id)));
  const agentName = useChat((state) => viewOf(state, id).agentName);
  const link = useLinkStatus();
  const agents = useChat((state) => state.agents);
  const agentId = useChat((state) => agentOf(state, id));
  const editing = useChat((state) => (state.editing?.sessionId === id ? state.editing : null));
  const led = useLed(id);
  const agent = agents?.find((one) => one.id === agentId);
  const [text, setText] = useState(() => loadDraft(workspace, id));
  const [images, setImages] = useState<readonly Attachment[]>([]);
  const [hint, setHint] = useState<string | null>(null);
  const [chosen, setChosen] = useState(0);
  const [caret, setCaret] = useState(text.length);
  const [dragging, setDragging] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const cancels = useRef(new Map<string, () => void>());
  const name = agentName || agent?.name || agentId || "Halo";
  const demo = isDemo(agent);

  const change = useCallback(
    (next: string, at = next.length): void => {
      setText(next);
      setCaret(at);
      saveDraft(workspace, id, next);
      setChosen(0);
    },
    [workspace, id],
  );

  useEffect(() => onDraftText((target, words) => target === id && change(words)), [id, change]);

  // Height follows the text up to 200 px: one write, one read, no transition.
  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(200, element.scrollHeight)}px`;
  }, [text]);

  useEffect(() => {
    const all = cancels.current;
    return () => {
      for (const cancel of all.values()) cancel();
    };
  }, []);

  useCommandList(workspace, id, draft);
  const commands = useCommands();
  const menu = editing ? [] : completions(text, commands, [{ text: "/clear", about: t("composer.commandClear"), open: false }]);

  const mentions = useMentions(workspace, id, text, caret, menu.length > 0 || editing !== null);
  const offered: readonly Choice[] = menu.length > 0 ? menu : mentions.matches.map((match) => ({ text: match.path, about: "", open: false }));
  const place = Math.min(chosen, offered.length - 1); // the list of files changes as it is typed

  const add = (files: readonly File[], others: boolean): void => {
    setHint(others ? t("composer.onlyImages") : null);
    const room = MOST_IMAGES - images.length;
    if (files.length > room) setHint(t("composer.tooMany", { n: MOST_IMAGES }));
    const made = files.slice(0, Math.max(0, room)).map((file) => {
      const { first, cancel } = attach(workspace, file, (next) =>
        setImages((all) => all.map((one) => (one.key === next.key ? next : one))),
      );
      cancels.current.set(first.key, cancel);
      return first;
    });
    if (made.length > 0) setImages((all) => [...all, ...made]);
  };

  const drop = (key: string): void => {
    cancels.current.get(key)?.();
    setImages((all) => all.filter((image) => image.key !== key));
  };

  const uploading = images.some((image) => image.id === null && image.error === null);
  const ready = images.filter((image) => image.id !== null);
  const command = ready.length === 0 && parseLine(text) !== null;
  const locked = led && !command && !editing; // a goal speaks here: only commands are taken
  const refused = locked && (images.length > 0 || !["", "/"].includes(text.trim()));
  const sendable = (text.trim() !== "" || ready.length > 0) && !uploading && !locked;

  const submit = (interrupt = false): void => {
    if (editing) {
      if (text.trim() === "") return;
      editQueued(id, editing.entryId, text.trim());
      setEditing(null);
      change("");
      return;
    }
    if (!sendable) return;
    const words = text.trim() === "" && mentions.files.length > 0 ? "(image)" : text.trim();
    send(id, command ? words : withReferences(words, mentions.files), ready.map((image) => ({ id: image.id!, url: image.url })), interrupt);
    change("");
    if (!command) mentions.clear(); // those of a command wait for the next message
    setImages([]);
    setHint(null);
  };

  const pick = (choice: Choice): void => {
    if (menu.length === 0) {
      const next = mentions.choose(choice.text);
      change(next.text, next.caret);
      requestAnimationFrame(() => field.current?.setSelectionRange(next.caret, next.caret));
      return;
    }
    if (choice.open) return change(`${choice.text} `);
    change("");
    send(id, choice.text);
  };

  const onKeyDown = (event: React.KeyboardEvent<HTMLTextAreaElement>): void => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return; // the IME's own keys
    if (offered.length > 0) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setChosen((place + (event.key === "ArrowDown" ? 1 : offered.length - 1)) % offered.length);
        return;
      }
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && menu.length === 0)) {
        event.preventDefault();
        const choice = offered[place]!;
        if (menu.length === 0) pick(choice);
        else change(choice.open ? `${choice.text} ` : choice.text);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        if (menu.length === 0) mentions.dismiss();
        else change("");
        return;
      }
    }
    if (event.key === "Escape" && editing) {
      event.preventDefault();
      event.stopPropagation();
      setEditing(null);
      change("");
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (menu.length > 0 && text !== menu[place]?.text && text.length > 1) pick(menu[place]!);
      else submit(event.ctrlKey || event.metaKey);
    } else if (event.code === "ArrowUp" && event.altKey && text === "") {
      event.preventDefault();
      const view = viewOf(useChat.getState(), id);
      const last = view.queue.at(-1);
      if (last) setEditing({ sessionId: id, entryId: last.entryId });
      change(last?.text ?? newestUserText(view));
    }
  };

  const offline = !link.online || (link.downSince !== null && link.phase === "waiting");
  const phone = useMedia("(max-width: 767px)");
  const placeholder = offline ? t("composer.offline") : led ? t(phone ? "goal:composerShort" : "goal:composer") : working ? (phone ? t("composer.runningShort", { agent: name }) : t("composer.running")) : phone ? t("composer.idleShort", { agent: name }) : demo ? t("composer.demo") : t("composer.idle", { agent: name });
  const none = agents !== null && agents.length === 0 && draft;

  if (none) {
    return <div className="chat-composer chat-composer-off"><Icon name="agent" /><span className="grow">{t("composer.noAgents")}</span><span className="t3">{t("composer.noAgentsHint")}</span></div>;
  }
  return (
    <div className={`chat-composer${dragging ? " dragging" : ""}`}
      onDragOver={(event) => { event.preventDefault(); setDragging(true); }} onDragLeave={() => setDragging(false)}
      onDrop={(event) => { event.preventDefault(); setDragging(false); add(...imagesIn(event.dataTransfer)); }}
      onMouseDown={(event) => { if (event.target === event.currentTarget) { event.preventDefault(); field.current?.focus(); } }}>
      {offered.length > 0 && text.length > 0 && (
        <div className="chat-commands" role="listbox" id="chat-commands" aria-label={menu.length > 0 ? t("composer.commands") : t(mentions.kind === "scope" ? "composer.folders" : "composer.files")}>
          {offered.map((choice, row) => (
            <button key={choice.text} type="button" role="option" id={`chat-command-${row}`} aria-selected={row === place} tabIndex={-1} onMouseDown={(event) => { event.preventDefault(); pick(choice); }}>
              <span className="mono clip">{choice.text}</span>{choice.about && <span className="t3 clip">{choice.about}</span>}
            </button>
          ))}
        </div>
      )}
      {(editing !== null || images.length > 0 || mentions.files.length > 0) && (
        <div className="chat-composer-chips">
          {editing && <span className="chip accent"><Icon name="pencil" size={12} />{t("composer.editing")}<button type="button" className="link-btn" onClick={() => { setEditing(null); change(""); }}>{t("composer.cancelEdit")}</button></span>}
          {mentions.files.map((path) => (
            <span key={path} className="chip" title={path}>
              <Icon name="file" size={12} /><span className="clip">{path}</span>
              <button type="button" className="link-btn" aria-label={t("composer.removeFile", { path })} title={t("composer.removeFile", { path })} onClick={() => mentions.remove(path)}><Icon name="x" size={12} /></button>
            </span>
          ))}
          {images.map((image) => (
            <span key={image.key} className={`chat-attachment${image.error ? " failed" : image.id ? "" : " uploading"}`} title={image.error ? t("composer.uploadFailed", { error: image.error }) : image.id ? "" : t("composer.uploading")}>
              <img src={image.url} alt="" />
              <button type="button" aria-label={t("composer.removeImage")} title={t("composer.removeImage")} onClick={() => drop(image.key)}><Icon name="x" size={12} /></button>
            </span>
          ))}
        </div>
      )}
      {images.some((image) => image.error !== null) && <div className="err sm" role="alert">{t("composer.uploadFailed", { error: images.find((image) => image.error !== null)?.error ?? "" })}</div>}
      {refused && <div className="t3 sm" role="status">{t("goal:locked")}</div>}
      {hint !== null && <div className="t3 sm" role="status">{hint}</div>}
      <textarea ref={field} id="composer" rows={1} value={text} placeholder={placeholder} aria-label={t("composer.label")} enterKeyHint="send"
        aria-controls={offered.length > 0 ? "chat-commands" : undefined} aria-activedescendant={offered.length > 0 ? `chat-command-${place}` : undefined}
        onChange={(event) => change(event.target.value, event.target.selectionStart)} onSelect={(event) => setCaret(event.currentTarget.selectionStart)} onKeyDown={onKeyDown}
        onPaste={(event) => { const [files, others] = imagesIn(event.clipboardData); if (files.length > 0) { event.preventDefault(); add(files, others); } }} />
      <div className="chat-composer-foot">
        <input ref={picker} type="file" accept="image/*" multiple hidden onChange={(event) => { add([...(event.target.files ?? [])], false); event.target.value = ""; }} />
        <button type="button" className="icon-btn" title={t("composer.attach")} aria-label={t("composer.attach")} onClick={() => picker.current?.click()}><Icon name="image" /></button>
        <button type="button" className="icon-btn chat-slash" title={t("composer.commands")} aria-label={t("composer.commands")} onClick={() => { if (text === "") change("/"); field.current?.focus(); }}><Icon name="slash" /></button>
        <AgentChip name={name} model={modelName(agent)} demo={demo} draft={draft} />
        <Rights level={level ?? "full"} />
        <span className="grow" />
        <ContextRing id={id} />
        <button type="button" className="chat-send" disabled={editing ? text.trim() === "" : !sendable} onClick={() => submit()}
          title={editing ? t("composer.save") : working ? t("composer.queue") : t("composer.send")} aria-label={editing ? t("composer.save") : working ? t("composer.queue") : t("composer.send")}>
          <Icon name={editing ? "check" : "send"} size={16} />
        </button>
      </div>
    </div>
  );
}

/** How far a session from here reaches: a sign for full access, the words where a sandbox holds it. */
function Rights({ level }: { level: NonNullable<Workspace["level"]> }) {
  const { t } = useTranslation("chat");
  const words = t(`rights.${level}`);
  if (level === "full") return <span className="t3 chat-rights" role="img" aria-label={words} title={words}><Icon name="bolt" size={13} /></span>;
  return <span className="chip outline chat-rights" title={words}><Icon name="shield" size={12} />{t(`rightsShort.${level}`)}</span>;
}

function AgentChip({ name, model, demo, draft }: { name: string; model: string; demo: boolean; draft: boolean }) {
  const { t } = useTranslation("chat");
  const agents = useChat((state) => state.agents) ?? [];
  if (demo && (agents.length <= 1 || !draft)) return <span className="chip outline chat-demo-chip">{t("composer.demoChip")}</span>;
  const face = (
    <>
      <span className="chat-face" aria-hidden="true">{[...name][0]?.toUpperCase()}</span>
      <span className="clip">{name}</span>
      <span className="t3 clip">{demo ? t("composer.demoChip") : model}</span>
    </>
  );
  if (!draft || agents.length <= 1) {
    return <span className="chat-agent-chip" title={draft ? undefined : t("composer.locked")}>{face}{!draft && <Icon name="lock" size={12} className="t3" />}</span>;
  }
  return (
    <Menu position="top-start" withinPortal>
      <Menu.Target><button type="button" className="btn ghost small chat-agent-chip" aria-label={t("composer.pick")}>{face}<Icon name="down" size={12} /></button></Menu.Target>
      <Menu.Dropdown>
        {agents.map((one) => <Menu.Item key={one.id} onClick={() => chooseAgent(one.id)}>{one.name} <span className="t3">{modelName(one)}</span></Menu.Item>)}
      </Menu.Dropdown>
    </Menu>
  );
}

const WORTH_COMPACTING = 5; // messages; up to that there is nothing to gain

const mayCompact = (view: View): boolean =>
  !busy(view) && (view.hasMore || view.past.filter((item) => item.kind === "user" || item.kind === "text").length > WORTH_COMPACTING);

/** Below 70 % ok, below 85 accent, from there warn; a press compacts. Nothing until the server knows both numbers. */
function ContextRing({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const view = useChat(
    useShallow((state) => {
      const shown = viewOf(state, id);
      const { contextTokens, maxContextTokens, compacting } = shown;
      return { contextTokens, maxContextTokens, compacting, may: mayCompact(shown) };
    }),
  );
  if (view.contextTokens <= 0 || view.maxContextTokens <= 0) return null;
  const percent = Math.min(100, Math.round((view.contextTokens / view.maxContextTokens) * 100));
  const colour = view.compacting ? "var(--rev)" : percent < 70 ? "var(--ok)" : percent < 85 ? "var(--accent)" : "var(--warn)";
  const words = t("composer.context", { used: count(view.contextTokens), max: count(view.maxContextTokens), percent });
  const face = (
    <>
      <span className="t3 xs num">{t("composer.contextShort", { used: count(view.contextTokens), max: count(view.maxContextTokens) })}</span>
      <span className="chat-context-ring" style={{ "--share": `${percent}%`, "--colour": colour } as React.CSSProperties} />
    </>
  );
  if (!view.may) return <span className="chat-context" role="img" aria-label={words} title={words}>{face}</span>;
  const act = `${words}. ${t("composer.compact")}`;
  return <button type="button" className="chat-context" aria-label={act} title={act} onClick={() => send(id, "/session compact")}>{face}</button>;
}
