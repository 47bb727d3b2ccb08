import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { ApiError, errorText } from "@/api/client";
import { readSkillText, saveSkillText, type SkillKey } from "@/api/skills";
import { useDraft } from "@/shared/drafts";
import { CodeArea } from "@/shared/ui/CodeArea";
import { Icon } from "@/shared/ui/Icon";
import { Skeletons } from "@/shared/ui/Skeletons";

interface Props {
  skill: SkillKey;
  project: string;
  mayEdit: boolean;
}

type Said = { kind: "saved" } | { kind: "refused"; text: string; line: number } | null;

/** The SKILL.md itself: what an agent reads. What the server refuses is said at its line and nothing is saved. */
export function SkillText({ skill, project, mayEdit }: Props) {
  const { t } = useTranslation(["skills", "common"]);
  const client = useQueryClient();
  const queryKey = ["skills", "text", project, skill.scope, skill.id];
  const query = useQuery({ queryKey, queryFn: () => readSkillText(project, skill), refetchOnMount: "always" });
  const file = query.data;
  const { text, dirty, change, forget } = useDraft(file?.path ?? "", file?.content ?? "");
  const [said, setSaid] = useState<Said>(null);
  const [busy, setBusy] = useState(false);
  const writes = mayEdit && file !== undefined && !file.readOnly;

  const save = async (): Promise<void> => {
    if (!writes || busy || !dirty) return;
    setBusy(true);
    try {
      await saveSkillText(project, skill, text);
      client.setQueryData(queryKey, { ...file, content: text, exists: true });
      forget();
      setSaid({ kind: "saved" });
      await client.invalidateQueries({ queryKey: ["skills"] });
    } catch (cause) {
      const line = cause instanceof ApiError && typeof cause.body.line === "number" ? cause.body.line : 0;
      setSaid({ kind: "refused", text: errorText(cause), line });
    }
    setBusy(false);
  };

  return (
    <section className="skill-text" aria-label="SKILL.md">
      <h2 className="settings-sub">SKILL.md</h2>
      {query.isPending && <Skeletons rows={6} height={20} />}
      {query.isError && !file && <div className="pane-note bad" role="alert"><Icon name="alert" size={16} /><p>{errorText(query.error)}</p></div>}
      {file && (
        <>
          <div className="code-holder"><CodeArea label="SKILL.md" value={text} onChange={change} onSave={() => void save()} readOnly={!writes} badLine={said?.kind === "refused" ? said.line : 0} describedBy="skill-said" wrap /></div>
          <div className="code-foot">
            <div className="grow" id="skill-said" aria-live="polite">
              {said?.kind === "refused" && <p className="err code-said"><Icon name="alert" size={14} /><span>{said.text} {dirty && t("text.notSaved")}</span></p>}
              {said?.kind === "saved" && !dirty && <p className="ok code-said"><Icon name="check" size={14} />{t("text.saved")}</p>}
              {!writes && <p className="t3 code-said"><Icon name="lock" size={14} />{t(file.readOnly ? "text.ofHalo" : "text.readOnly")}</p>}
            </div>
            {writes && dirty && <button type="button" className="btn ghost" onClick={() => { forget(); setSaid(null); }}>{t("text.discard")}</button>}
            {writes && <button type="button" className="btn primary" disabled={!dirty || busy} aria-busy={busy} onClick={() => void save()}>{t("common:act.save")}<kbd className="kbd on-solid">Ctrl S</kbd></button>}
          </div>
        </>
      )}
    </section>
  );
}
