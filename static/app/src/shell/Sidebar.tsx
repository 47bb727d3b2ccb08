import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { RelayPanel } from "@/features/relay";
import { SearchPanel } from "@/features/search";
import { SessionList } from "@/features/sessions";
import { Guard } from "@/shared/ui/Guard";
import { NotBuilt, type Unbuilt } from "./NotBuilt";
import { useShell } from "./store";

/** Sessions always; above them the part of the activity that is chosen. */
export function Sidebar({ workspace, onPick }: { workspace: Workspace; onPick?: () => void }) {
  const { t } = useTranslation("shell");
  const activity = useShell((state) => state.activity);
  if (activity === "search") return <Guard><SearchPanel workspace={workspace} onPick={onPick} /></Guard>;
  return (
    <>
      {activity !== "sessions" && (
        <section className="side-part" aria-label={t(`activity.${activity}`)}>
          <div className="side-head">{t(`activity.${activity}`)}</div>
          <NotBuilt what={activity as Unbuilt} small />
        </section>
      )}
      <Guard><RelayPanel workspace={workspace} onPick={onPick} /></Guard>
      <Guard><SessionList workspace={workspace} {...(onPick ? { onPick } : {})} /></Guard>
    </>
  );
}
