import { Modal } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { listAgentRows } from "@/api/agents";
import { errorText } from "@/api/client";
import { settingsSchema, type Scope } from "@/api/settings";
import { deleteSkill, toggleSkill, type SkillRow } from "@/api/skills";
import type { Workspace } from "@/api/workspaces";
import { FieldRow, lockOf } from "@/features/settings";
import { folderName } from "@/features/workspace";
import { useAuth } from "@/shared/auth";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import { Fact } from "@/shared/ui/Pane";
import { Segments } from "@/shared/ui/Segments";
import { keyOf, scopeOf, usedBy } from "./model";
import { SkillChips } from "./SkillsPage";
import { SkillText } from "./SkillText";

interface Props {
  row: SkillRow;
  rows: readonly SkillRow[];
  workspace: Workspace;
  mayShared: boolean;
  mayHere: boolean;
  onPick: (key: string) => void;
}

export function SkillDetail({ row, rows, workspace, mayShared, mayHere, onPick }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const client = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const project = workspace.path;
  const key = { id: row.id, scope: scopeOf(row) };
  const mayEdit = key.scope === "workspace" ? mayHere : mayShared;
  const maySwitch = workspace.level !== "readonly";
  const twin = rows.find((one) => one.id === row.id && one.scope !== row.scope);
  const agents = useQuery({ queryKey: ["agents", project], queryFn: () => listAgentRows(project) });
  const users = usedBy(row, agents.data ?? []);

  const act = async (what: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    try {
      await what();
    } catch (cause) {
      toast.error(errorText(cause));
    }
    await Promise.all([["skills"], ["settings"], ["agent"]].map((queryKey) => client.invalidateQueries({ queryKey })));
    setBusy(false);
  };
  const remove = () => act(async () => {
    setAsking(false);
    await deleteSkill(project, key);
  });

  return (
    <>
      <header className="pane-head">
        <div className="row"><h1>{row.name}</h1><SkillChips row={row} scope /></div>
        <p className="pane-about">{row.description || t("noDescription")}</p>
        <div className="pane-acts">
          {maySwitch && <button className="btn" disabled={busy} onClick={() => void act(() => toggleSkill(project, key))}><Icon name={row.disabled ? "play" : "pause"} size={14} />{t(row.disabled ? "act.enable" : "act.disable")}</button>}
          {mayEdit && !row.builtIn && <button className="btn ghost" disabled={busy} onClick={() => setAsking(true)}><Icon name="trash" size={14} />{t("common:act.delete")}</button>}
        </div>
      </header>
      <div className="pane-body">
        {row.error && <div className="pane-note bad" role="alert"><Icon name="alert" size={16} /><div><strong>{t("broken", { file: `${row.path}/SKILL.md` })}</strong><p>{row.error}</p></div></div>}
        {row.overridden && <div className="pane-note"><Icon name="info" size={16} /><p>{t("overriddenText")} <button className="link-btn" onClick={() => onPick(`workspace/${row.id}`)}>{t("act.showOther")}</button></p></div>}
        {!row.overridden && twin && <div className="pane-note"><Icon name="info" size={16} /><p>{t("overridesText")} <button className="link-btn" onClick={() => onPick(keyOf(twin))}>{t("act.showOther")}</button></p></div>}
        {row.warnings.length > 0 && <div className="pane-note asks" role="status"><Icon name="alert" size={16} /><div>{row.warnings.map((text) => <p key={text}>{text}</p>)}</div></div>}
        <div className="card">
          <Fact name={t("fact.command")}>
            {row.command && row.userInvocable ? <code className="mono">{row.command}</code> : <span className="t3">{t("noCommand")}</span>}
            {row.verbs.length > 0 && (
              <ul className="skill-verbs">{row.verbs.map((verb) => (
                <li key={verb.name}><code className="mono">{row.command} {verb.name}</code><span className="t2">{verb.desc}</span>{verb.requiresAccess && <span className="chip outline"><Icon name="lock" size={10} />{t(`level.${verb.requiresAccess}`)}</span>}</li>
              ))}</ul>
            )}
          </Fact>
          <Fact name={t("fact.who")}>{t(row.modelInvocable ? (row.userInvocable && row.command ? "who.both" : "who.agents") : "who.people")}</Fact>
          <Fact name={t("fact.access")}>{t(`needs.${row.requiresAccess ?? "any"}`)}</Fact>
          <Fact name={t("fact.agents")}>
            <div className="fact-chips">{users.length === 0 ? <span className="t3">{t("noAgents")}</span> : users.map((agent) => <span key={keyOf(agent)} className="chip">{agent.name}</span>)}</div>
          </Fact>
          <Fact name={t("fact.folder")}><code className="mono">{row.path}</code></Fact>
        </div>
        <SkillText key={`${key.scope}/${key.id}`} skill={key} project={project} mayEdit={mayEdit} />
        <Values id={row.id} workspace={workspace} />
      </div>
      <Modal opened={asking} onClose={() => setAsking(false)} title={t("delete.title", { name: row.name })} classNames={{ title: "dialog-title" }} size={460} closeButtonProps={{ "aria-label": t("common:act.close") }}>
        <p className="t2 dialog-text">{t("delete.text")} <code className="mono">{row.path}</code></p>
        <div className="dialog-foot"><button className="btn" onClick={() => setAsking(false)}>{t("common:act.cancel")}</button><button className="btn danger" data-autofocus onClick={() => void remove()}>{t("delete.button")}</button></div>
      </Modal>
    </>
  );
}

/** Parameters and secrets the skill asks for; a secret is written here and never shown again. */
function Values({ id, workspace }: { id: string; workspace: Workspace }) {
  const { t } = useTranslation(["skills", "common", "settings"]);
  const client = useQueryClient();
  const superuser = useAuth((state) => state.user?.isSuperuser ?? false);
  const [scope, setScope] = useState<Scope>("workspace");
  const schema = useQuery({ queryKey: ["settings", scope, workspace.path], queryFn: () => settingsSchema(scope === "workspace" ? workspace.path : null) });
  const fields = schema.data?.sections.find((one) => one.group === "skill" && one.id === id)?.fields ?? [];
  const refresh = () => client.invalidateQueries({ queryKey: ["settings"] });
  if (schema.isError && !schema.data) return <p className="err sm" role="alert">{errorText(schema.error)}</p>;
  if (fields.length === 0 && scope === "workspace") return null;
  return (
    <section className="skill-values" aria-label={t("values")}>
      <div className="row skill-values-head">
        <h2 className="settings-sub grow">{t("values")}</h2><span className="t3 sm">{t("settings:showValuesOf")}</span>
        <Segments<Scope> label={t("settings:showValuesOf")} value={scope} onChange={setScope} options={[{ value: "global", label: t("settings:global") }, { value: "workspace", label: folderName(workspace.path) }]} />
      </div>
      {fields.length === 0 ? <p className="t3">{t("noSharedValues")}</p> : (
        <div className="card">
          {fields.map((field) => (
            <FieldRow key={`${scope}.${field.path}`} field={field} scope={scope} project={workspace.path} locked={lockOf(field, scope, schema.data?.errors ?? [], { superuser, level: workspace.level })} onChanged={refresh} onSwitchGlobal={() => setScope("global")} />
          ))}
        </div>
      )}
    </section>
  );
}
