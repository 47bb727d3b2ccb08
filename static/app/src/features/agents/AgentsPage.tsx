import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { AgentRow } from "@/api/agents";
import { errorText } from "@/api/client";
import type { Workspace } from "@/api/workspaces";
import { useAuth } from "@/shared/auth";
import { storage } from "@/shared/storage";
import { Icon } from "@/shared/ui/Icon";
import { Pane, PaneRow } from "@/shared/ui/Pane";
import { Ring } from "@/shared/ui/Ring";
import { Skeletons } from "@/shared/ui/Skeletons";
import { AgentDetail } from "./AgentDetail";
import { GROUPS, grouped, keyOf, modelOf, ringOf, type Group } from "./model";
import { NewAgent } from "./NewAgent";
import { useAgents } from "./useAgents";
import "./agents.css";

/** Who can act here: agents of this workspace, of the server, and those the server uses itself. */
export default function AgentsPage({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["agents", "common"]);
  const list = useAgents(workspace.path);
  const superuser = useAuth((state) => state.user?.isSuperuser ?? false);
  const full = workspace.level === null || workspace.level === "full";
  const [find, setFind] = useState("");
  const [making, setMaking] = useState(false);
  const [internal, setInternal] = useState(false);
  const [picked, setPicked] = useState<string | null>(() => storage.get(`halo_agent_page_${workspace.path}`));
  const [chosen, setChosen] = useState(false);
  const rows = list.data ?? [];
  const groups = useMemo(() => grouped(rows, find), [rows, find]);
  const shown = rows.find((row) => keyOf(row) === picked) ?? rows.find((row) => !row.overridden && !row.internal) ?? rows[0];

  const pick = (key: string) => {
    setPicked(key);
    setChosen(true);
    storage.set(`halo_agent_page_${workspace.path}`, key);
  };
  const open = (group: Group) => group !== "internal" || internal || find.trim() !== "" || (chosen && shown?.internal === true);

  return (
    <>
      <Pane title={t("title")} find={{ label: t("find"), value: find, onChange: setFind }} label={shown?.name ?? t("title")} chosen={chosen} onBack={() => setChosen(false)}
        tools={(full || superuser) && <button className="icon-btn small" aria-label={t("new.title")} title={t("new.title")} onClick={() => setMaking(true)}><Icon name="plus" size={14} /></button>}
        list={
          <>
            {list.isPending && <Skeletons rows={4} height={46} />}
            {list.isError && rows.length === 0 && <div className="side-note" role="alert"><p>{t("failed")}</p><p className="t3 sm">{errorText(list.error)}</p><button className="btn small" onClick={() => void list.refetch()}>{t("common:act.retry")}</button></div>}
            {GROUPS.filter((group) => groups[group].length > 0).map((group) => (
              <div key={group} role="group" aria-label={t(`group.${group}`)}>
                <div className="pane-group">
                  {group === "internal" ? <button aria-expanded={open(group)} onClick={() => setInternal(!internal)}><Icon name={open(group) ? "down" : "right"} size={12} />{t("group.internal")} <span className="num">{groups.internal.length}</span></button> : t(`group.${group}`)}
                </div>
                {open(group) && groups[group].map((row) => (
                  <PaneRow key={keyOf(row)} title={row.name} text={secondLine(row)} current={shown !== undefined && keyOf(shown) === keyOf(row)} dimmed={row.disabled || row.overridden} ring={<Ring state={ringOf(row)} />} chips={<Chips row={row} />} onPick={() => pick(keyOf(row))} />
                ))}
              </div>
            ))}
            {rows.length > 0 && GROUPS.every((group) => groups[group].length === 0) && <p className="side-note t3 sm">{t("none")}</p>}
          </>
        }>
        {shown && <AgentDetail key={keyOf(shown)} row={shown} rows={rows} workspace={workspace} mayShared={superuser} mayHere={full} onPick={pick} />}
      </Pane>
      {making && <NewAgent workspace={workspace} rows={rows} mayShared={superuser} mayHere={full} onClose={() => setMaking(false)} onMade={(row) => { setMaking(false); pick(keyOf(row)); }} />}
    </>
  );

  function secondLine(row: AgentRow): string {
    if (row.error) return row.error;
    return [modelOf(row).id, row.description].filter(Boolean).join(" · ");
  }
}

/** What a person must know of an agent before reading on; the scope is said by the group. */
export function Chips({ row, scope = false }: { row: AgentRow; scope?: boolean }) {
  const { t } = useTranslation("agents");
  return (
    <>
      {scope && <span className={row.scope === "workspace" ? "chip accent" : "chip outline"}>{t(row.scope === "workspace" ? "scope.workspace" : "scope.global")}</span>}
      {row.error && <span className={ringOf(row) === "warn" ? "chip warn" : "chip err"}>{t("chip.broken")}</span>}
      {row.overridden && <span className="chip">{t("chip.overridden")}</span>}
      {row.disabled && <span className="chip">{t("chip.disabled")}</span>}
      {scope && row.internal && <span className="chip">{t("chip.internal")}</span>}
      {scope && row.builtIn && <span className="chip">{t("chip.builtIn")}</span>}
    </>
  );
}
