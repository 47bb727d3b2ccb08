import { Drawer } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { Checklist, DemoBanner, useFirstRun } from "@/features/firstrun";
import { Guard } from "@/shared/ui/Guard";
import { Icon } from "@/shared/ui/Icon";
import { ChatSlot, type Width } from "./ChatHost";
import { focusComposer } from "./chatPort";
import { useDock } from "./dockStore";
import { LinkLine } from "./LinkLine";
import { PageOf } from "./PageOf";
import { Rail } from "./Rail";
import { Resizer } from "./Resizer";
import { Sidebar } from "./Sidebar";
import { StatusBar } from "./StatusBar";
import { isPage, useShell } from "./store";
import { TopBar } from "./TopBar";

const Dock = lazy(() => import("./Dock"));

/** Desktop and tablet: top bar, rail, sidebar, dock or page, status bar. On a tablet the sidebar is a drawer. */
export function Desk({ workspace, width }: { workspace: Workspace; width: Width }) {
  const { t } = useTranslation(["shell", "common"]);
  const { activity, sidebar, sidebarWidth, layout, chatBeside, drawer } = useShell();
  const firstRun = useFirstRun(workspace);
  const page = isPage(activity);
  const docked = useDock((state) => state.wanted); // the dock is loaded when there is something to dock beside the chat
  const beside = width === "desktop" && sidebar && !page;

  return (
    <div className="desk">
      <TopBar workspace={workspace} />
      <Rail />
      <div className="desk-body">
        <LinkLine />
        {!page && firstRun.demo && <DemoBanner />}
        <div className="desk-row">
          {beside && (
            <aside className="sidebar" style={{ width: sidebarWidth }} aria-label={t("sidebar")} data-region>
              <Sidebar workspace={workspace} />
              <Resizer />
            </aside>
          )}
          <main className="desk-main" aria-label={t("main")} data-region hidden={page}>
            {docked ? <Guard><Suspense fallback={<ChatSlot />}><Dock layout={layout} covered={page} /></Suspense></Guard> : <ChatSlot />}
          </main>
          {page && (
            <main className="page" aria-label={t(`activity.${activity}`)} data-region>
              <Guard>
                <Suspense fallback={null}>
                  <PageOf activity={activity} workspace={workspace} />
                </Suspense>
              </Guard>
            </main>
          )}
          {page && chatBeside && <section className="chat-beside" aria-label={t("chat")} data-region><ChatSlot /></section>}
          {page && !chatBeside && (
            <button className="chat-folded" title={`${t("foldedChat")} (Ctrl J)`} aria-label={t("foldedChat")} onClick={() => { useShell.setState({ chatBeside: true }); focusComposer(); }}>
              <Icon name="chat" /><span>{t("chat")}</span>
            </button>
          )}
          {!page && layout === "chat" && firstRun.visible && width === "desktop" && <Checklist workspace={workspace} state={firstRun} />}
        </div>
      </div>
      <StatusBar workspace={workspace} demo={firstRun.demo} />
      <Drawer opened={width === "tablet" && drawer && !page} onClose={() => useShell.setState({ drawer: false })} size={300} padding={0} title={t("sidebar")} classNames={{ body: "drawer-body", title: "dialog-title", header: "drawer-head" }} closeButtonProps={{ "aria-label": t("common:act.close") }}>
        <Sidebar workspace={workspace} onPick={() => useShell.setState({ drawer: false })} />
      </Drawer>
    </div>
  );
}
