import { Popover } from "@mantine/core";
import { create } from "zustand";
import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import type { Need } from "@/api/sessions";
import { openFolder } from "@/features/workspace";
import { openSessionIn } from "@/shell/chatPort";
import { showDialog } from "@/shell/store";
import { useFreshNeeds, useNeeds } from "./useNeeds";
import { when } from "./when";

const useOpened = create<{ opened: boolean }>()(() => ({ opened: false }));
export const openNeeds = (): void => useOpened.setState({ opened: true });

/** The bell: everything amber or red that this person may act on. Not a feed; a row leaves by itself when it is solved. */
export function NeedsYou({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation("shell");
  const opened = useOpened((state) => state.opened);
  const count = useNeeds().length;
  const set = (next: boolean) => useOpened.setState({ opened: next });
  const label = count ? t("needsYouCount", { count }) : t("needsYou");
  return (
    <Popover opened={opened} onChange={set} position="bottom-end" width={340} trapFocus returnFocus classNames={{ dropdown: "pop" }}>
      <Popover.Target>
        <button className="icon-btn" aria-label={label} title={label} aria-expanded={opened} onClick={() => set(!opened)}><Icon name="bell" />{count > 0 && <span className="needs-dot" />}</button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t("needsYou")}><div className="side-head">{t("needsYou")}</div><NeedsList workspace={workspace} onPick={() => set(false)} /></Popover.Dropdown>
    </Popover>
  );
}

export function NeedsList({ workspace, onPick }: { workspace: Workspace; onPick: () => void }) {
  const { t } = useTranslation(["shell", "sessions"]);
  const needs = useNeeds();
  useFreshNeeds();
  if (needs.length === 0) {
    return <div className="side-note needs-empty" tabIndex={0} data-autofocus><Icon name="check" size={18} /><p>{t("nothingNeedsYou")}</p><p className="t3 sm">{t("nothingNeedsYouText")}</p></div>;
  }
  const go = (need: Need) => {
    openSessionIn(need.projectId, need.sessionId);
    if (need.projectId !== workspace.path) void openFolder(need.projectId);
    if (need.kind === "key") showDialog("connect");
    onPick();
  };
  return (
    <div className="pop-list">
      {needs.map((need) => (
        <button key={`${need.projectId}:${need.sessionId}`} className="pop-row needs-row" onClick={() => go(need)}>
          <Ring state={need.kind === "failed" ? "err" : "warn"} />
          <span className="grow">
            <span className="clip needs-title">{need.title || t("sessions:untitled")}</span>
            <span className="sm t2 needs-text">{need.kind === "parked" ? t("parked") : need.text}</span>
            <span className="sm t3 clip">{need.projectId !== workspace.path && `${need.workspace} · `}{when(need.at, Date.now())}</span>
          </span>
        </button>
      ))}
    </div>
  );
}
