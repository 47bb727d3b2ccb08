import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { listSkills, type SkillRow } from "@/api/skills";
import type { Workspace } from "@/api/workspaces";
import { useAuth } from "@/shared/auth";
import { storage } from "@/shared/storage";
import { Icon } from "@/shared/ui/Icon";
import { Pane, PaneRow } from "@/shared/ui/Pane";
import { Ring } from "@/shared/ui/Ring";
import { Skeletons } from "@/shared/ui/Skeletons";
import { socket } from "@/socket";
import { isNewsOf } from "@/socket/itemNews";
import { grouped, keyOf, ringOf } from "./model";
import { NewSkill } from "./NewSkill";
import { SkillDetail } from "./SkillDetail";
import "./skills.css";

/** What agents can be taught here: skills of this workspace and of the server, those that cannot load with the reason. */
export default function SkillsPage({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["skills", "common"]);
  const list = useQuery({ queryKey: ["skills", workspace.path], queryFn: () => listSkills(workspace.path), refetchOnWindowFocus: "always", refetchOnMount: "always" });
  const client = useQueryClient();
  useEffect(() => socket.onFrame((frame) => {
    if (isNewsOf("skills", frame)) void client.invalidateQueries({ queryKey: ["skills"] });
  }), []);
  const superuser = useAuth((state) => state.user?.isSuperuser ?? false);
  const full = workspace.level === null || workspace.level === "full";
  const [find, setFind] = useState("");
  const [making, setMaking] = useState(false);
  const [picked, setPicked] = useState<string | null>(() => storage.get(`halo_skill_page_${workspace.path}`));
  const [chosen, setChosen] = useState(false);
  const rows = list.data ?? [];
  const groups = useMemo(() => grouped(rows, find), [rows, find]);
  const shown = rows.find((row) => keyOf(row) === picked) ?? rows.find((row) => !row.overridden) ?? rows[0];

  const pick = (key: string) => {
    setPicked(key);
    setChosen(true);
    storage.set(`halo_skill_page_${workspace.path}`, key);
  };

  return (
    <>
      <Pane title={t("title")} find={{ label: t("find"), value: find, onChange: setFind }} label={shown?.name ?? t("title")} chosen={chosen && shown !== undefined} onBack={() => setChosen(false)}
        tools={(full || superuser) && <button className="icon-btn small" aria-label={t("new.title")} title={t("new.title")} onClick={() => setMaking(true)}><Icon name="plus" size={14} /></button>}
        list={
          <>
            {list.isPending && <Skeletons rows={4} height={46} />}
            {list.isError && rows.length === 0 && <div className="side-note" role="alert"><p>{t("failed")}</p><p className="t3 sm">{errorText(list.error)}</p><button className="btn small" onClick={() => void list.refetch()}>{t("common:act.retry")}</button></div>}
            {(["workspace", "global"] as const).filter((group) => groups[group].length > 0).map((group) => (
              <div key={group} role="group" aria-label={t(`group.${group}`)}>
                <div className="pane-group">{t(`group.${group}`)}</div>
                {groups[group].map((row) => (
                  <PaneRow key={keyOf(row)} title={row.name} text={secondLine(row)} current={shown !== undefined && keyOf(shown) === keyOf(row)} dimmed={row.disabled || row.overridden} ring={<Ring state={ringOf(row)} />} chips={<SkillChips row={row} />} onPick={() => pick(keyOf(row))} />
                ))}
              </div>
            ))}
            {list.isSuccess && rows.length > 0 && groups.workspace.length + groups.global.length === 0 && <p className="side-note t3 sm">{t("none")}</p>}
            {list.isSuccess && rows.length === 0 && <div className="side-note"><Icon name="skill" size={18} /><p>{t("empty")}</p><p className="t3 sm">{t("emptyText")}</p></div>}
          </>
        }>
        {shown ? <SkillDetail key={keyOf(shown)} row={shown} rows={rows} workspace={workspace} mayShared={superuser} mayHere={full} onPick={pick} /> : list.isSuccess && (
          <div className="full-note"><Icon name="skill" size={24} /><h1>{t("empty")}</h1><p className="t2">{t("emptyText")}</p>{(full || superuser) && <button className="btn primary" onClick={() => setMaking(true)}>{t("new.title")}</button>}</div>
        )}
      </Pane>
      {making && <NewSkill workspace={workspace} rows={rows} mayShared={superuser} mayHere={full} onClose={() => setMaking(false)} onMade={(row) => { setMaking(false); pick(keyOf(row)); }} />}
    </>
  );

  function secondLine(row: SkillRow): string {
    return row.error || [row.command, row.description].filter(Boolean).join(" · ");
  }
}

export function SkillChips({ row, scope = false }: { row: SkillRow; scope?: boolean }) {
  const { t } = useTranslation("skills");
  return (
    <>
      {scope && <span className={row.scope === "workspace" ? "chip accent" : "chip outline"}>{t(`scope.${row.scope}`)}</span>}
      {row.error && <span className="chip err">{t("chip.broken")}</span>}
      {row.overridden && <span className="chip">{t("chip.overridden")}</span>}
      {row.disabled && <span className="chip">{t("chip.disabled")}</span>}
      {row.requiresAccess && <span className="chip outline" title={t(`needs.${row.requiresAccess}`)}><Icon name="lock" size={10} />{t(`level.${row.requiresAccess}`)}</span>}
      {scope && row.builtIn && <span className="chip">{t("chip.builtIn")}</span>}
    </>
  );
}
