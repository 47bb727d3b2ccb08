import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { showPrompt, type Access, type AgentRow } from "@/api/agents";
import { errorText } from "@/api/client";
import { CodeArea } from "@/shared/ui/CodeArea";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { Skeletons } from "@/shared/ui/Skeletons";

const LEVELS: readonly Access[] = ["full", "workspace", "readonly"];

/** The system prompt, tools and skills a session of this agent would start with now, and the files they come from. */
export function PromptTab({ row, project }: { row: AgentRow; project: string }) {
  const { t } = useTranslation(["agents", "common", "workspace"]);
  const [level, setLevel] = useState<Access>("full");
  const [child, setChild] = useState(false);
  const serves = !row.overridden && !row.disabled;
  const query = useQuery({ queryKey: ["agent", "prompt", project, row.id, level, child], queryFn: () => showPrompt(project, row.id, level, child), refetchOnMount: "always", enabled: serves });
  if (!serves) return <div className="pane-note"><Icon name="info" size={16} /><p>{t(row.disabled ? "prompt.disabled" : "prompt.overridden")}</p></div>;
  const shown = query.data;
  const names = (list: readonly string[], none: string) => (list.length === 0 ? <span className="t3">{none}</span> : list.map((name) => <span key={name} className="chip">{name}</span>));
  return (
    <>
      <div className="row texts-head">
        <span className="t3 sm">{t("prompt.level")}</span>
        <Segments<Access> label={t("prompt.level")} value={level} onChange={setLevel} options={LEVELS.map((value) => ({ value, label: t(`workspace:level.${value}`) }))} />
        <Switch checked={child} onChange={(event) => setChild(event.currentTarget.checked)} label={t("prompt.child")} />
      </div>
      {query.isPending && <Skeletons rows={6} height={20} />}
      {query.isError && <div className="pane-note bad" role="alert"><Icon name="alert" size={16} /><div className="grow"><p>{errorText(query.error)}</p></div><button className="btn small" onClick={() => void query.refetch()}>{t("common:act.retry")}</button></div>}
      {shown && !query.isError && (
        <div className="prompt fills">
          <div className="fills code-holder"><CodeArea label={t("prompt.text")} value={shown.text} readOnly wrap /></div>
          <aside className="prompt-side" tabIndex={0} aria-label={t("prompt.madeOf")}>
            <h2>{t("prompt.sources")}</h2>
            {shown.sources.length === 0 ? <p className="t3 sm">{t("prompt.noSources")}</p> : <ol>{shown.sources.map((source) => <li key={source} className="mono">{source}</li>)}</ol>}
            <h2>{t("fact.tools")}</h2>
            <div className="fact-chips">{names(shown.tools, t("empty.tools"))}</div>
            <h2>{t("fact.skills")}</h2>
            <div className="fact-chips">{names(shown.skills, t("empty.skills"))}</div>
            <p className="t3 sm num">{t("prompt.size", { n: shown.text.length })}</p>
          </aside>
        </div>
      )}
    </>
  );
}
