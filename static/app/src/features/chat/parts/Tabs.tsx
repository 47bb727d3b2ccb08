import { Menu } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { copyText } from "@/shared/copy";
import { Icon } from "@/shared/ui/Icon";
import { Ring, type RingState } from "@/shared/ui/Ring";
import { busy, type View } from "../model";
import { activate, closeTab, openDraft, setLiveThinking, setShowUsage, titleOf, useChat } from "../store";
import { ExportItems } from "./ExportItems";

/** One glyph for the state of a tab: needs you > at work > unseen > waiting > idle. */
export function ringOf(view: View | undefined): RingState {
  if (!view) return "idle";
  if (view.failed && !busy(view)) return "warn";
  if (view.pending.some((item) => item.state === "failed")) return "warn";
  if (busy(view)) return "run";
  if (view.unseen) return "new";
  if (view.pending.length > 0) return "wait";
  return "idle";
}

export function Tabs() {
  const { t } = useTranslation("chat");
  const tabs = useChat((state) => state.tabs);
  const active = useChat((state) => state.active);
  const strip = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const chosen = strip.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    chosen?.scrollIntoView?.({ block: "nearest", inline: "nearest" });
  }, [active, tabs.length]);

  const move = (event: React.KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0 && event.key !== "Delete") return;
    event.preventDefault();
    const here = tabs.findIndex((tab) => tab.id === active);
    if (event.key === "Delete") return closeTab(active);
    const next = tabs[(here + by + tabs.length) % tabs.length];
    if (!next) return;
    activate(next.id);
    window.requestAnimationFrame(() => strip.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };

  return (
    <div className="chat-tabs">
      <div className="chat-tab-strip" role="tablist" aria-label={t("tabs.list")} ref={strip} onKeyDown={move}>
        {tabs.map((tab) => <TabButton key={tab.id} id={tab.id} draft={tab.draft} selected={tab.id === active} />)}
      </div>
      <button type="button" className="icon-btn small" title={t("tabs.new")} aria-label={t("tabs.new")} onClick={() => openDraft()}><Icon name="plus" size={14} /></button>
      <span className="grow" />
      <TabMenu />
    </div>
  );
}

function TabButton({ id, draft, selected }: { id: string; draft: boolean; selected: boolean }) {
  const { t } = useTranslation("chat");
  const ring = useChat((state) => ringOf(state.views[id]));
  const title = useChat((state) => titleOf(state, id)) ?? (draft ? t("tabs.draft") : t("tabs.untitled"));
  const unseen = ring === "new";
  return (
    <div className={`chat-tab${selected ? " on" : ""}${unseen ? " unseen" : ""}${draft ? " draft" : ""}`} role="presentation"
      onAuxClick={(event) => event.button === 1 && closeTab(id)}>
      <button type="button" role="tab" aria-selected={selected} aria-controls="chat-panel" tabIndex={selected ? 0 : -1} onClick={() => activate(id)} title={title}>
        {!draft && <Ring state={ring} />}
        <span className="clip">{title}</span>
      </button>
      <button type="button" className="chat-tab-close" tabIndex={-1} aria-hidden="true"
        title={ring === "run" ? t("tabs.stillRunning") : t("tabs.close", { title })} onClick={() => closeTab(id)}>
        <Icon name="x" size={12} />
      </button>
    </div>
  );
}

function TabMenu() {
  const { t } = useTranslation("chat");
  const [open, setOpen] = useState(false);
  return (
    <Menu position="bottom-end" withinPortal opened={open} onChange={setOpen}>
      <Menu.Target>
        <button type="button" className="icon-btn small" title={t("tabs.more")} aria-label={t("tabs.more")}><Icon name="more" size={14} /></button>
      </Menu.Target>
      <Menu.Dropdown>{open && <TabMenuItems />}</Menu.Dropdown>
    </Menu>
  );
}

function TabMenuItems() {
  const { t } = useTranslation("chat");
  const state = useChat();
  const { tabs, active, workspace, showUsage, liveThinking } = state;
  const saved = tabs.some((tab) => tab.id === active && !tab.draft);
  return (
    <>
        <Menu.Label>{t("tabs.all")}</Menu.Label>
        {tabs.map((tab) => (
          <Menu.Item key={tab.id} leftSection={<Ring state={ringOf(state.views[tab.id])} />} onClick={() => activate(tab.id)} fw={tab.id === active ? 600 : 400}>
            {titleOf(state, tab.id) ?? (tab.draft ? t("tabs.draft") : t("tabs.untitled"))}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item role="menuitemcheckbox" aria-checked={showUsage} leftSection={showUsage ? <Icon name="check" size={14} /> : <span className="chat-menu-gap" />} onClick={() => setShowUsage(!showUsage)}>{t("menu.usage")}</Menu.Item>
        <Menu.Item role="menuitemcheckbox" aria-checked={liveThinking} leftSection={liveThinking ? <Icon name="check" size={14} /> : <span className="chat-menu-gap" />} onClick={() => setLiveThinking(!liveThinking)}>{t("menu.thinking")}</Menu.Item>
        <Menu.Item leftSection={<Icon name="copy" size={14} />} onClick={() => void copyText(active)}>{t("menu.copyId")}</Menu.Item>
        {saved && workspace !== null && <ExportItems workspace={workspace} id={active} />}
        <Menu.Item leftSection={<Icon name="x" size={14} />} onClick={() => closeTab(active)}>{t("menu.close")}</Menu.Item>
    </>
  );
}
