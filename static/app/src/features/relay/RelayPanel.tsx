import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { cancelDispatch, type Dispatch } from "@/api/relay";
import type { Workspace } from "@/api/workspaces";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { openEnd } from "./open";
import { nameOf, otherEnd } from "./sides";
import { useDispatches } from "./useDispatches";
import "./relay.css";

/** Who waits for whom, as a list: tasks from or to this workspace. Nothing where nobody waits. */
export function RelayPanel({ workspace, onPick }: { workspace: Workspace; onPick?: (() => void) | undefined }) {
  const { t } = useTranslation("relay");
  const { rows, refresh } = useDispatches(workspace.path);
  if (rows.length === 0) return null;

  const open = (row: Dispatch) => {
    const end = otherEnd(row, workspace.path);
    if (end === null) return;
    openEnd(end, workspace.path);
    onPick?.();
  };
  const cancel = async (row: Dispatch) => {
    try {
      await cancelDispatch(workspace.path, row.id);
    } catch (cause) {
      toast.error(errorText(cause));
    }
    await refresh();
  };
  return (
    <section className="relay" aria-label={t("title")}>
      <div className="side-head">{t("title")}<span className="count num">{rows.length}</span></div>
      <ul>
        {rows.map((row) => {
          const caller = nameOf(row.caller, workspace.path, t("hidden"));
          const target = nameOf(row.target, workspace.path, t("hidden"));
          const words = t("asks", { caller, target });
          const running = row.state === "working";
          return (
            <li key={row.id} className="relay-row">
              <button type="button" className="relay-open" title={words} disabled={otherEnd(row, workspace.path) === null} onClick={() => open(row)}>
                <Ring state={running ? "run" : "wait"} />
                <span className="grow">
                  <span className="relay-words">{words}</span>
                  <span className="clip sm t3">{[t(running ? "working" : "pending"), row.interims > 0 && t("interims", { count: row.interims })].filter(Boolean).join(" · ")}</span>
                </span>
              </button>
              {workspace.level !== "readonly" && (
                <button type="button" className="icon-btn small" aria-label={t("cancel", { target })} title={t("cancel", { target })} onClick={() => void cancel(row)}><Icon name="x" size={14} /></button>
              )}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
