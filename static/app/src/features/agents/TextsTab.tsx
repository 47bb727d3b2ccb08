import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { readMarkdown, saveMarkdown, type AgentKey, type MdFile } from "@/api/agents";
import { errorText } from "@/api/client";
import { CodeArea } from "@/shared/ui/CodeArea";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { Skeletons } from "@/shared/ui/Skeletons";
import { useDraft } from "@/shared/drafts";

const FILES = ["AGENT.md", "INSTRUCTIONS.md", "INDEX.md"] as const;
type Name = (typeof FILES)[number];

interface Props {
  agent: AgentKey;
  project: string;
  mayEdit: boolean;
}

/** The texts around an agent: its own AGENT.md, and the two its scope shares. */
export function TextsTab({ agent, project, mayEdit }: Props) {
  const { t } = useTranslation("agents");
  const [name, setName] = useState<Name>("AGENT.md");
  const queryKey = ["agent", "texts", project, agent.scope, agent.id];
  const query = useQuery({ queryKey, queryFn: () => readMarkdown(project, agent), refetchOnMount: "always" });
  const file = query.data?.[name];
  return (
    <>
      <div className="row texts-head">
        <Segments<Name> label={t("tab.texts")} value={name} onChange={setName} options={FILES.map((value) => ({ value, label: value }))} />
        <span className="t3 sm grow">{t(`text.${name === "AGENT.md" ? "agent" : name === "INDEX.md" ? "index" : "instructions"}`)}</span>
      </div>
      {query.isPending && <Skeletons rows={6} height={20} />}
      {query.isError && !query.data && <div className="pane-note bad" role="alert"><Icon name="alert" size={16} /><p>{errorText(query.error)}</p></div>}
      {file && <TextFile key={file.path} name={name} file={file} agent={agent} project={project} mayEdit={mayEdit && !file.readOnly} queryKey={queryKey} />}
    </>
  );
}

interface FileProps extends Props {
  name: Name;
  file: MdFile;
  queryKey: readonly string[];
}

function TextFile({ name, file, agent, project, mayEdit, queryKey }: FileProps) {
  const { t } = useTranslation(["agents", "common"]);
  const client = useQueryClient();
  const { text, dirty, change, forget } = useDraft(file.path, file.content);
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<{ good: boolean; text: string } | null>(null);

  const save = async () => {
    if (!mayEdit || busy || !dirty) return;
    setBusy(true);
    try {
      await saveMarkdown(project, agent, name, text);
      client.setQueryData<Record<string, MdFile>>(queryKey, (old) => old && { ...old, [name]: { ...file, content: text, exists: true } });
      forget();
      setSaid({ good: true, text: t("saved") });
      await client.invalidateQueries({ queryKey: ["agent", "prompt"] });
    } catch (cause) {
      setSaid({ good: false, text: `${errorText(cause)} ${t("notSaved")}` });
    }
    setBusy(false);
  };
  return (
    <>
      <div className="fills code-holder"><CodeArea label={name} value={text} onChange={change} onSave={() => void save()} readOnly={!mayEdit} wrap /></div>
      <div className="code-foot">
        <div className="grow" aria-live="polite">
          {said && (!said.good || !dirty) ? <p className={said.good ? "ok code-said" : "err code-said"}><Icon name={said.good ? "check" : "alert"} size={14} />{said.text}</p> : <p className="t3 code-said"><code className="mono clip">{file.path}</code>{!file.exists && <span>{t("text.missing")}</span>}</p>}
        </div>
        {mayEdit && dirty && <button className="btn ghost" onClick={forget}>{t("discard")}</button>}
        {mayEdit && <button className="btn primary" disabled={!dirty || busy} aria-busy={busy} onClick={() => void save()}>{t("common:act.save")}<kbd className="kbd on-solid">Ctrl S</kbd></button>}
      </div>
    </>
  );
}
