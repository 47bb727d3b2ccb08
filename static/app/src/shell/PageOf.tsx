import { lazy } from "react";
import type { Workspace } from "@/api/workspaces";
import { SearchPanel } from "@/features/search";
import { NotBuilt, type Unbuilt } from "./NotBuilt";
import { useShell, type Activity } from "./store";

const AgentsPage = lazy(() => import("@/features/agents/AgentsPage"));
const RelayPage = lazy(() => import("@/features/relay/RelayPage"));
const SettingsPage = lazy(() => import("@/features/settings/SettingsPage"));
const SkillsPage = lazy(() => import("@/features/skills/SkillsPage"));

/** Activities with a page of their own in this version. */
const BUILT: readonly Activity[] = ["search", "relay", "agents", "skills", "settings"];
export const isBuilt = (activity: Activity): boolean => BUILT.includes(activity);

/** The page of an activity; each is loaded when it is first shown. */
export function PageOf({ activity, workspace }: { activity: Activity; workspace: Workspace }) {
  switch (activity) {
    case "search": // a page on the phone only
      return <SearchPanel workspace={workspace} onPick={() => useShell.setState({ activity: "sessions" })} />;
    case "relay":
      return <RelayPage workspace={workspace} />;
    case "agents":
      return <AgentsPage workspace={workspace} />;
    case "skills":
      return <SkillsPage workspace={workspace} />;
    case "settings":
      return <SettingsPage workspace={workspace} />;
    default:
      return <NotBuilt what={activity as Unbuilt} />;
  }
}
