/** What the frame itself offers to keys and palette. */
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { openPicker } from "@/features/workspace";
import { openNeeds } from "@/features/sessions";
import { openFiles, togglePalette } from "@/features/palette";
import { LANGUAGES, setLanguage } from "@/shared/i18n";
import { useRegister, type Action } from "@/shared/keys/actions";
import { setTheme, THEMES } from "@/shared/theme/store";
import { focusComposer, openDraft } from "./chatPort";
import { LAYOUTS } from "./layouts";
import { openSearch } from "./openSearch";
import { walkRegions } from "./regions";
import { ACTIVITIES, goTo, isPage, setLayout, showDialog, showPage, toggleSidebar, useShell } from "./store";
import { keepPrefs, leave } from "./TopBar";

function toggleChat(): void {
  const { activity, chatBeside } = useShell.getState();
  if (isPage(activity)) useShell.setState({ chatBeside: !chatBeside });
  if (!isPage(activity) || !chatBeside) focusComposer();
}

export function useFrameActions(workspace: Workspace): void {
  const { t } = useTranslation(["shell", "common"]);
  const actions = useMemo<Action[]>(() => {
    const [view, app, focus, session] = [t("group.view"), t("group.app"), t("group.focus"), t("group.session")];
    return [
      { id: "palette", label: t("act.palette"), keys: ["Mod+K"], group: app, inPalette: false, run: togglePalette },
      { id: "files", label: t("act.files"), keys: ["Mod+P"], group: app, inPalette: false, run: openFiles },
      { id: "session.new", label: t("act.newSession"), group: session, run: () => { if (isPage(useShell.getState().activity)) goTo("sessions"); openDraft(); } },
      { id: "chat.toggle", label: t("act.toggleChat"), keys: ["Mod+J"], group: view, run: toggleChat },
      { id: "sidebar.toggle", label: t("act.toggleSidebar"), keys: ["Mod+B"], group: view, run: toggleSidebar },
      ...LAYOUTS.map((name, index) => ({
        id: `layout.${name}`, label: t("act.layoutTo", { name: t(`layouts.${name}`) }), keys: [`Alt+Shift+Digit${index + 1}`, ...(name === "terminal" ? ["Mod+Backquote"] : [])], group: view, run: () => setLayout(workspace.path, name),
      })),
      { id: "region.next", label: t("act.nextRegion"), keys: ["F6"], group: focus, inPalette: false, run: () => walkRegions(1) },
      { id: "region.previous", label: t("act.previousRegion"), keys: ["Shift+F6"], group: focus, inPalette: false, run: () => walkRegions(-1) },
      { id: "needs", label: t("act.needs"), keys: ["G N"], group: app, run: openNeeds },
      { id: "connect", label: t("act.connect"), group: app, run: () => showDialog("connect") },
      { id: "folder", label: t("act.openFolder"), group: app, run: openPicker },
      { id: "settings", label: t("act.settings"), group: app, run: () => showPage("settings") },
      { id: "keys", label: t("act.keys"), keys: ["?"], group: app, run: () => showDialog("keys") },
      ...ACTIVITIES.filter((name) => name !== "settings").map((name) => ({ id: `go.${name}`, ...(name === "search" ? { keys: ["Mod+Shift+F"] } : {}), label: t("act.go", { name: t(`activity.${name}`) }), group: view, run: () => { if (name === "search") openSearch(); else if (useShell.getState().activity !== name) goTo(name); } })),
      ...[...THEMES, "system" as const].map((name) => ({ id: `theme.${name}`, label: t("act.theme", { name: t(`common:theme.${name}`) }), group: app, run: () => { setTheme(name); keepPrefs({ theme: name }); } })),
      ...LANGUAGES.map((name) => ({ id: `language.${name}`, label: t("act.language", { name: t(`common:language.${name}`) }), group: app, run: () => { void setLanguage(name); keepPrefs({ language: name }); } })),
      { id: "logout", label: t("act.logout"), group: app, run: () => void leave() },
    ];
  }, [t, workspace.path]);
  useRegister(actions);
}
