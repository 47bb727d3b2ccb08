import { Drawer, Menu } from "@mantine/core";
import { Suspense, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { DemoBanner, useFirstRun } from "@/features/firstrun";
import { RelayPanel } from "@/features/relay";
import { NeedsList, SessionList, useNeeds, useSessionTitle } from "@/features/sessions";
import { openPalette } from "@/features/palette";
import { folderName, openPicker } from "@/features/workspace";
import { useAuth } from "@/shared/auth";
import { Guard } from "@/shared/ui/Guard";
import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { Ring } from "@/shared/ui/Ring";
import { ChatSlot } from "./ChatHost";
import { ExportItems, openDraft, useActiveSession, useRunningSessions } from "./chatPort";
import { LinkLine } from "./LinkLine";
import { NotBuilt } from "./NotBuilt";
import { isBuilt, PageOf } from "./PageOf";
import { showDialog, showPage, useShell, type Activity } from "./store";
import { leave } from "./TopBar";
import "./phone.css";

type Tab = "chat" | "files" | "terminal" | "needs" | "more";
const TABS: readonly (readonly [Tab, IconName])[] = [["chat", "chat"], ["files", "files"], ["terminal", "term"], ["needs", "bell"], ["more", "list"]];
const MORE: readonly (readonly [Activity, IconName])[] = [
  ["search", "search"], ["git", "git"], ["relay", "relay"], ["agents", "agent"], ["skills", "skill"], ["cron", "clock"], ["evolution", "evo"], ["channels", "plane"],
];

/** The keyboard of a phone covers part of the page: what is left is the visual viewport, and the frame keeps to it. */
function useVisualHeight(): number | null {
  const [height, setHeight] = useState<number | null>(() => window.visualViewport?.height ?? null);
  useEffect(() => {
    const view = window.visualViewport;
    if (!view) return undefined;
    const look = () => setHeight(view.height);
    view.addEventListener("resize", look);
    return () => view.removeEventListener("resize", look);
  }, []);
  return height;
}

/** Below 768 px: one pane at a time, chat first, tabs at the bottom, lists as drawers, dialogs as sheets. */
export function Phone({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["shell", "common"]);
  const [tab, setTab] = useState<Tab>("chat");
  const [drawer, setDrawer] = useState(false);
  const [page, setPage] = useState<Activity | null>(null);
  const wanted = useShell((state) => state.activity);
  const active = useActiveSession();
  const title = useSessionTitle(workspace.path, active);
  const running = useRunningSessions();
  const needs = useNeeds().length;
  const firstRun = useFirstRun(workspace);
  const height = useVisualHeight();

  // An action elsewhere (palette, banner) may ask for a page; one that leads back to the sessions ends it.
  useEffect(() => {
    if (isBuilt(wanted)) {
      setTab("more");
      setPage(wanted);
    } else if (wanted === "sessions" && page && isBuilt(page)) {
      setPage(null);
      setTab("chat");
    }
  }, [wanted]);

  const choose = (next: Tab) => {
    setTab(next);
    setPage(null);
    if (isBuilt(wanted)) useShell.setState({ activity: "sessions" });
  };

  return (
    <div className="phone" style={height ? { height } : undefined}>
      <header className="phone-head" aria-label={t("top")} data-region>
        <button className="icon-btn" aria-label={t("menu")} onClick={() => setDrawer(true)}><Icon name="menu" size={20} /></button>
        <div className="grow">
          <div className="row phone-title"><Ring state={active && running.includes(active) ? "run" : needs ? "warn" : "idle"} /><strong className="clip">{tab === "chat" ? title : page ? t(`activity.${page}`) : t(`tab.${tab}`)}</strong></div>
          <div className="phone-sub t3 clip">{folderName(workspace.path)}{firstRun.demo ? ` · ${t("demo")}` : ""}</div>
        </div>
        <button className="icon-btn" aria-label={t("common:act.search")} onClick={openPalette}><Icon name="search" size={20} /></button>
        <Menu position="bottom-end" classNames={{ dropdown: "pop" }}>
          <Menu.Target><button className="icon-btn" aria-label={t("common:act.more")}><Icon name="more" size={20} /></button></Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => { choose("chat"); openDraft(); }}>{t("act.newSession")}</Menu.Item>
            <Menu.Item onClick={openPicker}>{t("act.openFolder")}</Menu.Item>
            {active !== null && <ExportItems workspace={workspace.path} id={active} />}
            <Menu.Item onClick={() => showDialog("connect")}>{t("act.connect")}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </header>
      <LinkLine />
      {tab === "chat" && firstRun.demo && <DemoBanner />}
      <main className="phone-main" aria-label={tab === "chat" ? t("chat") : t(`tab.${tab}`)} data-region>
        <div className="phone-pane" hidden={tab !== "chat"}><ChatSlot /></div>
        {tab === "files" && <NotBuilt what="explorer" />}
        {tab === "terminal" && <NotBuilt what="terminal" />}
        {tab === "needs" && <NeedsList workspace={workspace} onPick={() => choose("chat")} />}
        {tab === "more" && (
          <Guard>
            <Suspense fallback={null}>
              {page ? <PageOf activity={page} workspace={workspace} /> : <More open={(next) => (isBuilt(next) ? showPage(next) : setPage(next))} />}
            </Suspense>
          </Guard>
        )}
      </main>
      <nav className="phone-tabs" aria-label={t("activities")} data-region>
        {TABS.map(([name, icon]) => (
          <button key={name} aria-current={tab === name ? "page" : undefined} onClick={() => choose(name)}>
            <Icon name={icon} size={22} />{t(`tab.${name}`)}{name === "needs" && needs > 0 && <span className="phone-count">{needs}</span>}
          </button>
        ))}
      </nav>
      <Drawer opened={drawer} onClose={() => setDrawer(false)} size="85%" padding={0} title={folderName(workspace.path)} classNames={{ body: "drawer-body", title: "dialog-title", header: "drawer-head" }} closeButtonProps={{ "aria-label": t("common:act.close") }}>
        <RelayPanel workspace={workspace} onPick={() => { setDrawer(false); choose("chat"); }} />
        <SessionList workspace={workspace} onPick={() => { setDrawer(false); choose("chat"); }} onTasks={() => { setDrawer(false); setTab("more"); setPage("relay"); }} />
      </Drawer>
    </div>
  );
}

function More({ open }: { open: (activity: Activity) => void }) {
  const { t } = useTranslation(["shell", "common"]);
  const user = useAuth((state) => state.user);
  return (
    <div className="phone-more">
      <button onClick={() => open("settings")}><Icon name="gear" size={20} /><span className="grow">{t("activity.settings")}</span><Icon name="right" /></button>
      {MORE.map(([name, icon]) => (
        <button key={name} onClick={() => open(name)}><Icon name={icon} size={20} /><span className="grow">{t(`activity.${name}`)}</span>{isBuilt(name) ? <Icon name="right" /> : <span className="t3 sm">{t("common:state.notBuilt")}</span>}</button>
      ))}
      {user?.isStaff && <a href="/admin/"><Icon name="shield" size={20} /><span className="grow">{t("admin")}</span><Icon name="right" /></a>}
      <button onClick={() => void leave()}><Icon name="aright" size={20} /><span className="grow">{t("logout")}</span></button>
    </div>
  );
}
