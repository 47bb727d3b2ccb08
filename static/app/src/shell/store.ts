/** What the frame shows: activity, sidebar, layout, dialogs. Remembered per browser, the layout per workspace. */
import { create } from "zustand";
import { storage } from "@/shared/storage";
import { wantDock } from "./dockStore";
import { isLayout, type LayoutName } from "./layouts";

export const ACTIVITIES = ["explorer", "search", "git", "sessions", "relay", "agents", "skills", "cron", "evolution", "channels", "settings"] as const;
export type Activity = (typeof ACTIVITIES)[number];

/** Activities that live in the sidebar, beside the dock; all others are pages and take its place. */
const BESIDE: readonly Activity[] = ["explorer", "search", "git", "sessions"];
export const isPage = (activity: Activity): boolean => !BESIDE.includes(activity);

export interface ShellState {
  activity: Activity;
  sidebar: boolean;
  sidebarWidth: number;
  layout: LayoutName;
  /** Chat shown beside a page (Ctrl+J); without a page it is always there. */
  chatBeside: boolean;
  drawer: boolean;
  dialog: "keys" | "connect" | null;
  /** Section of the settings page to show when it opens; empty = the first. */
  settingsSection: string;
}

export const SIDEBAR_MIN = 180;
export const clampSidebar = (width: number, window_: number): number =>
  Math.round(Math.max(SIDEBAR_MIN, Math.min(width, Math.max(SIDEBAR_MIN, window_ * 0.4))));

const isActivity = (value: string | null): value is Activity => (ACTIVITIES as readonly (string | null)[]).includes(value);

const initial = (): ShellState => {
  const activity = storage.get("halo_sidebar_tab");
  const width = Number(storage.get("halo_sidebar_width"));
  return {
    activity: isActivity(activity) && !isPage(activity) ? activity : "sessions",
    sidebar: storage.get("halo_sidebar_open") === "1",
    sidebarWidth: width >= SIDEBAR_MIN ? width : 248,
    layout: "chat",
    chatBeside: false,
    drawer: false,
    dialog: null,
    settingsSection: "",
  };
};

export const useShell = create<ShellState>()(initial);

/** Pure: a click on an activity. The active one again hides the sidebar; a page again leads back to the sessions. */
export function pressActivity(state: ShellState, activity: Activity): Partial<ShellState> {
  if (activity !== state.activity) return isPage(activity) ? { activity, chatBeside: false } : { activity, sidebar: true };
  return isPage(activity) ? { activity: "sessions" } : { sidebar: !state.sidebar };
}

export function goTo(activity: Activity): void {
  useShell.setState((state) => pressActivity(state, activity));
  remember();
}

export function showPage(activity: Activity, settingsSection = ""): void {
  useShell.setState({ activity, settingsSection, chatBeside: false, dialog: null, drawer: false });
  remember();
}

export function toggleSidebar(): void {
  useShell.setState(({ sidebar }) => ({ sidebar: !sidebar, drawer: !sidebar }));
  remember();
}

export function setSidebarWidth(width: number): void {
  useShell.setState({ sidebarWidth: clampSidebar(width, window.innerWidth) });
  storage.set("halo_sidebar_width", String(useShell.getState().sidebarWidth));
}

function remember(): void {
  const { activity, sidebar } = useShell.getState();
  // A search is of the moment: the next visit begins with the sessions.
  if (!isPage(activity) && activity !== "search") storage.set("halo_sidebar_tab", activity);
  storage.set("halo_sidebar_open", sidebar ? "1" : "0");
}

export function loadLayout(project: string): void {
  const stored = storage.get(`halo_layout_${project}`);
  const layout = isLayout(stored) ? stored : "chat";
  if (layout !== "chat") wantDock();
  useShell.setState({ layout });
}

export function setLayout(project: string, layout: LayoutName): void {
  if (layout !== "chat") wantDock();
  useShell.setState((state) => ({ layout, activity: isPage(state.activity) ? "sessions" : state.activity }));
  storage.set(`halo_layout_${project}`, layout);
}

export const showDialog = (dialog: ShellState["dialog"]): void => useShell.setState({ dialog });
