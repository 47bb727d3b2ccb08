import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { readYaml, saveYaml, type AgentKey } from "@/api/agents";
import { ApiError, errorText } from "@/api/client";
import { CodeArea } from "@/shared/ui/CodeArea";
import { Icon } from "@/shared/ui/Icon";
import { Skeletons } from "@/shared/ui/Skeletons";
import { useDraft } from "@/shared/drafts";
import { lineOf } from "./model";
import { useRefresh } from "./useAgents";

interface Props {
  agent: AgentKey;
  project: string;
  mayEdit: boolean;
  /** Line to mark when the tab opens; 0 = none. */
  line: number;
  /** Why it cannot be changed; "" = it can. */
  why: string;
}

type Said = { kind: "idle" } | { kind: "saved"; warnings: readonly string[] } | { kind: "refused"; text: string; line: number };

/** The file itself. The server reads it before it is stored; what it refuses is said at its line and nothing is saved. */
export function YamlTab({ agent, project, mayEdit, line, why }: Props) {
  const { t } = useTranslation(["agents", "common"]);
  const client = useQueryClient();
  const refresh = useRefresh();
  const queryKey = ["agent", "yaml", project, agent.scope, agent.id];
  const query = useQuery({ queryKey, queryFn: () => readYaml(project, agent), refetchOnMount: "always" });
  const file = `${project} ${agent.scope}/${agent.id}/agent.yaml`;
  const { text, dirty, change, forget } = useDraft(file, query.data?.yaml ?? "");
  const [said, setSaid] = useState<Said>({ kind: "idle" });
  const [busy, setBusy] = useState(false);
  const stored = query.data?.error ?? "";

  // A file that was broken before anyone touched it here says so at its line, too.
  useEffect(() => {
    if (stored) setSaid({ kind: "refused", text: stored, line: lineOf(stored) || line });
  }, [stored, line]);

  const save = async () => {
    if (!mayEdit || busy || (!dirty && said.kind !== "refused")) return;
    setBusy(true);
    try {
      const { warnings } = await saveYaml(project, agent, text);
      client.setQueryData(queryKey, { ...query.data, yaml: text, warnings, error: "" });
      forget();
      setSaid({ kind: "saved", warnings });
      await refresh();
    } catch (cause) {
      const at = cause instanceof ApiError && typeof cause.body.line === "number" ? cause.body.line : 0;
      setSaid({ kind: "refused", text: errorText(cause), line: at });
    }
    setBusy(false);
  };

  if (query.isPending) return <Skeletons rows={6} height={20} />;
  if (query.isError && !query.data) return <div className="pane-note bad" role="alert"><Icon name="alert" size={16} /><p>{errorText(query.error)}</p></div>;
  const badLine = said.kind === "refused" ? said.line : 0;
  return (
    <>
      <div className="fills code-holder">
        <CodeArea label="agent.yaml" value={text} onChange={change} onSave={() => void save()} readOnly={!mayEdit} badLine={badLine} describedBy="yaml-said" />
      </div>
      <div className="code-foot">
        <div className="grow" id="yaml-said" aria-live="polite">
          {said.kind === "refused" && <p className="err code-said"><Icon name="alert" size={14} /><span>{said.text} {dirty && t("notSaved")}</span></p>}
          {said.kind === "saved" && !dirty && <p className="ok code-said"><Icon name="check" size={14} />{t("saved")}</p>}
          {said.kind === "saved" && said.warnings.map((one) => <p key={one} className="warn code-said"><Icon name="alert" size={14} /><span>{one}</span></p>)}
          {why && <p className="t3 code-said"><Icon name="lock" size={14} />{why}</p>}
        </div>
        {mayEdit && dirty && <button className="btn ghost" onClick={() => { forget(); setSaid({ kind: "idle" }); }}>{t("discard")}</button>}
        {mayEdit && <button className="btn primary" disabled={!dirty || busy} aria-busy={busy} onClick={() => void save()}>{t("common:act.save")}<kbd className="kbd on-solid">Ctrl S</kbd></button>}
      </div>
    </>
  );
}
