import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { readYaml, saveYaml, type AgentRow } from "@/api/agents";
import { errorText } from "@/api/client";
import { listSkills } from "@/api/skills";
import { Icon } from "@/shared/ui/Icon";
import { Fact } from "@/shared/ui/Pane";
import { choices, flipped, keyOf, modelOf, scopeOf } from "./model";
import { Servers } from "./Servers";
import { useRefresh, useTools } from "./useAgents";
import { setList } from "./yamlText";

interface Props {
  row: AgentRow;
  rows: readonly AgentRow[];
  project: string;
  mayEdit: boolean;
  onPick: (key: string) => void;
}

type ListKey = "tools" | "skills" | "team";

/** What the agent is made of. Tools, skills and team are switched here; each press is one saved agent.yaml. */
export function Overview({ row, rows, project, mayEdit, onPick }: Props) {
  const { t } = useTranslation("agents");
  const refresh = useRefresh();
  const tools = useTools();
  const skills = useQuery({ queryKey: ["skills", project], queryFn: () => listSkills(project), refetchOnMount: "always" });
  const [saving, setSaving] = useState<ListKey | null>(null);
  const [fault, setFault] = useState<{ key: ListKey; text: string } | null>(null);
  const model = modelOf(row);
  const broken = row.model === null || row.error.includes("stays active"); // nothing is switched in a file that cannot be read
  const settled = mayEdit && !broken;

  const flip = async (key: ListKey, name: string) => {
    if (saving) return;
    setSaving(key);
    setFault(null);
    const at = { id: row.id, scope: scopeOf(row) };
    try {
      const { yaml } = await readYaml(project, at);
      await saveYaml(project, at, setList(yaml, key, flipped(row[key], name)));
      await refresh();
    } catch (cause) {
      setFault({ key, text: errorText(cause) });
    }
    setSaving(null);
  };

  const describe = new Map<string, string>([
    ...(tools.data ?? []).map((tool) => [`tools ${tool.name}`, tool.description] as const),
    ...(skills.data ?? []).map((skill) => [`skills ${skill.id}`, skill.description] as const),
    ...rows.map((agent) => [`team ${agent.id}`, agent.description] as const),
  ]);
  const list = (key: ListKey, known: readonly string[]) => {
    const offer = settled ? choices(known, row[key]) : choices([], row[key]).map((one) => ({ ...one, known: known.length === 0 || known.includes(one.name) }));
    return (
      <Fact name={t(`fact.${key}`)}>
        <div className="fact-chips" role="group" aria-label={t(`fact.${key}`)} aria-busy={saving === key}>
          {offer.length === 0 && <span className="t3">{t(`empty.${key}`)}</span>}
          {offer.map((one) => {
            const words = describe.get(`${key} ${one.name}`);
            const label = <>{one.on && <Icon name={one.known ? "check" : "alert"} size={12} />}{one.name}{key === "team" && one.name === row.id && <span> {t("you")}</span>}</>;
            return settled ? (
              <button key={one.name} className="choice" aria-pressed={one.on} title={one.known ? words : t("unknown")} disabled={saving !== null} onClick={() => void flip(key, one.name)}>{label}</button>
            ) : <span key={one.name} className="chip" title={one.known ? words : t("unknown")}>{label}</span>;
          })}
        </div>
        <p className="fact-hint">{t(`hint.${key}`)}</p>
        {fault?.key === key && <p className="err sm" role="alert">{fault.text}</p>}
      </Fact>
    );
  };

  const team = rows.filter((one) => !one.internal && !one.overridden && !one.disabled && one.model !== null).map((one) => one.id);
  return (
    <>
      {row.warnings.length > 0 && (
        <div className="pane-note asks" role="status"><Icon name="alert" size={16} /><div>{row.warnings.map((text) => <p key={text}>{text}</p>)}</div></div>
      )}
      <div className="card">
        {row.model !== null && (
          <>
            <Fact name={t("fact.model")}>
              {model.id ? <span className="mono">{model.provider} · {model.id}</span> : <span className="err">{t("noModel")}</span>}
              {model.endpoint && <p className="fact-hint mono">{model.endpoint}</p>}
            </Fact>
            {list("tools", (tools.data ?? []).map((tool) => tool.name))}
            {list("skills", (skills.data ?? []).filter((skill) => !skill.overridden && !skill.error).map((skill) => skill.id))}
            {list("team", [...new Set(team)])}
            <Servers row={row} project={project} />
            <Fact name={t("fact.priority")}><span className="num">{row.priority}</span><p className="fact-hint">{t("hint.priority")}</p></Fact>
          </>
        )}
        <Fact name={t("fact.folder")}><code className="mono">{row.path}</code></Fact>
      </div>
      {row.team.filter((id) => id !== row.id).length > 0 && (
        <div className="row fact-chips"><span className="t3 sm">{t("openMember")}</span>
          {row.team.filter((id) => id !== row.id).map((id) => {
            const member = rows.find((one) => one.id === id && !one.overridden);
            return member ? <button key={id} className="link-btn sm" onClick={() => onPick(keyOf(member))}>{member.name}</button> : null;
          })}
        </div>
      )}
    </>
  );
}
