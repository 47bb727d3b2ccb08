import { Menu } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { logout, savePrefs } from "@/api/auth";
import { errorText } from "@/api/client";
import { NeedsYou, useNeeds } from "@/features/sessions";
import { openPalette } from "@/features/palette";
import { WorkspaceMenu } from "@/features/workspace";
import { useAuth } from "@/shared/auth";
import { currentLanguage, LANGUAGES, setLanguage } from "@/shared/i18n";
import { onMac, spell } from "@/shared/keys/combo";
import { toast } from "@/shared/toast";
import { setTheme, THEMES, useTheme } from "@/shared/theme/store";
import { Icon } from "@/shared/ui/Icon";
import { groupState, Ring } from "@/shared/ui/Ring";
import { useRunningSessions } from "./chatPort";
import { dockChat, floatChat, maximizeChat, useDock } from "./dockStore";
import { LAYOUTS } from "./layouts";
import { goTo, setLayout, showDialog, showPage, useShell } from "./store";

/** Save a look for the person; a server that cannot is no reason to take the look back. */
export const keepPrefs = (prefs: { theme?: string; language?: string }): void => {
  savePrefs(prefs).catch((cause: unknown) => toast.error(errorText(cause)));
};

export function TopBar({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["shell", "common"]);
  const running = useRunningSessions().length;
  const needs = useNeeds().length;
  const state = groupState([needs ? "warn" : "idle", running ? "run" : "idle"]);
  return (
    <header className="top" aria-label={t("top")} data-region>
      <div className="top-logo"><span className="halo-mark" /></div>
      <WorkspaceMenu workspace={workspace} state={state} />
      <button className="top-search" onClick={openPalette}>
        <Icon name="search" size={14} /><span className="grow clip">{t("palette")}</span><kbd className="kbd">{spell("Mod+K", onMac())}</kbd>
      </button>
      <span className="grow" />
      {running > 0 && <button className="chip accent top-running" onClick={() => goTo("sessions")}><Ring state="run" labelled={false} />{t("atWork", { count: running })}</button>}
      <LayoutMenu workspace={workspace} />
      <NeedsYou workspace={workspace} />
      <AccountMenu />
    </header>
  );
}

function LayoutMenu({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation("shell");
  const layout = useShell((state) => state.layout);
  const chat = useDock((state) => state.chat);
  return (
    <Menu position="bottom-end" width={240} classNames={{ dropdown: "pop" }}>
      <Menu.Target><button className="icon-btn" aria-label={t("layout")} title={t("layout")}><Icon name="panel" /></button></Menu.Target>
      <Menu.Dropdown>
        {LAYOUTS.map((name, index) => (
          <Menu.Item key={name} leftSection={<span className="menu-check">{name === layout && <Icon name="check" size={14} />}</span>}
            rightSection={<kbd className="kbd">{spell(`Alt+Shift+Digit${index + 1}`, onMac())}</kbd>} aria-current={name === layout} onClick={() => setLayout(workspace.path, name)}>
            {t(`layouts.${name}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<span className="menu-check" />} onClick={chat === "floating" ? dockChat : floatChat}>{t(chat === "floating" ? "dockChat" : "floatChat")}</Menu.Item>
        <Menu.Item leftSection={<span className="menu-check" />} onClick={chat === "maximized" ? dockChat : maximizeChat}>{t(chat === "maximized" ? "restoreChat" : "maximizeChat")}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

export const initials = (name: string): string => name.slice(0, 2).toUpperCase();

export async function leave(by: () => Promise<unknown> = logout): Promise<void> {
  try {
    await by();
    window.location.reload();
  } catch (cause) {
    toast.error(errorText(cause));
  }
}

function AccountMenu() {
  const { t } = useTranslation(["shell", "common"]);
  const user = useAuth((state) => state.user);
  const { wish } = useTheme();
  const username = user?.username ?? "";
  return (
    <Menu position="bottom-end" width={240} classNames={{ dropdown: "pop" }}>
      <Menu.Target><button className="avatar" aria-label={`${initials(username)}, ${t("account")}: ${username}`} title={t("account")}>{initials(username)}</button></Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{t("signedInAs", { username })}{user?.isSuperuser ? `, ${t("superuser")}` : user?.isStaff ? `, ${t("staff")}` : ""}</Menu.Label>
        <Menu.Item leftSection={<Icon name="users" size={14} />} onClick={() => showPage("settings", "account")}>{t("accountSettings")}</Menu.Item>
        {user?.isStaff && <Menu.Item leftSection={<Icon name="shield" size={14} />} component="a" href="/admin/" target="_blank" rel="noreferrer">{t("admin")}</Menu.Item>}
        <Menu.Item leftSection={<Icon name="slash" size={14} />} rightSection={<kbd className="kbd">?</kbd>} onClick={() => showDialog("keys")}>{t("keysHelp")}</Menu.Item>
        <Menu.Divider />
        {[...THEMES, "system" as const].map((name) => (
          <Menu.Item key={name} closeMenuOnClick={false} leftSection={<span className="menu-check">{name === wish && <Icon name="check" size={14} />}</span>} aria-current={name === wish}
            onClick={() => { setTheme(name); keepPrefs({ theme: name }); }}>
            {t(`common:theme.${name}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        {LANGUAGES.map((name) => (
          <Menu.Item key={name} closeMenuOnClick={false} leftSection={<span className="menu-check">{name === currentLanguage() && <Icon name="check" size={14} />}</span>} aria-current={name === currentLanguage()}
            onClick={() => { void setLanguage(name); keepPrefs({ language: name }); }}>
            {t(`common:language.${name}`)}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="aright" size={14} />} onClick={() => void leave()}>{t("logout")}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
