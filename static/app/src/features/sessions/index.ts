import { useTranslation } from "react-i18next";
import { useSessions } from "./useSessions";

export { SessionList } from "./SessionList";
export { NeedsList, NeedsYou, openNeeds } from "./NeedsYou";
export { useNeeds } from "./useNeeds";
export { useSessionNews, useSessions } from "./useSessions";
export { rowState } from "./rows";
export { when } from "./when";

/** The title of a session in the list; a draft and an unknown one are "New session". */
export function useSessionTitle(project: string, id: string | null): string {
  const { t } = useTranslation("sessions");
  const { rows } = useSessions(project);
  return rows.find((row) => row.id === id)?.title || t("untitled");
}
