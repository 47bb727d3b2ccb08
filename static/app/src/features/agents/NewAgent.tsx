import { Modal, Select } from "@mantine/core";
import { useId, useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { makeAgent, type AgentRow } from "@/api/agents";
import { errorText } from "@/api/client";
import type { Scope } from "@/api/settings";
import type { Workspace } from "@/api/workspaces";
import { folderName } from "@/features/workspace";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { usePhone } from "@/shared/useMedia";
import { copyAgent } from "./copyAgent";
import { idOf, keyOf, scopeOf } from "./model";
import { useRefresh } from "./useAgents";

interface Props {
  workspace: Workspace;
  rows: readonly AgentRow[];
  mayShared: boolean;
  mayHere: boolean;
  onClose: () => void;
  onMade: (row: AgentRow) => void;
}

/** Name, purpose, place, and what it starts as: empty, or the files of an agent there is. */
export function NewAgent({ workspace, rows, mayShared, mayHere, onClose, onMade }: Props) {
  const { t } = useTranslation(["agents", "common", "settings"]);
  const id = useId();
  const phone = usePhone();
  const refresh = useRefresh();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [scope, setScope] = useState<Scope>(mayHere ? "workspace" : "global");
  const [template, setTemplate] = useState("");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const wanted = idOf(name);
  const twin = rows.find((row) => row.id === wanted && row.scope !== scope);
  const taken = rows.some((row) => row.id === wanted && row.scope === scope);
  const from = rows.find((row) => keyOf(row) === template);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!wanted || taken || busy) return;
    setBusy(true);
    setFault("");
    try {
      const made = from
        ? await copyAgent({ project: workspace.path, from: { id: from.id, scope: scopeOf(from) }, scope, name: name.trim(), description: description.trim(), verbatim: false })
        : (await makeAgent(workspace.path, scope, name.trim(), description.trim())).agent;
      await refresh();
      onMade(made);
    } catch (cause) {
      setFault(errorText(cause));
      setBusy(false);
      await refresh();
    }
  };
  const input = (what: string, label: string, value: string, set: (text: string) => void, more = {}) => (
    <div className="form-row"><label htmlFor={`${id}-${what}`}>{label}</label><div className="field"><input id={`${id}-${what}`} value={value} autoComplete="off" onChange={(event) => set(event.target.value)} {...more} /></div></div>
  );

  return (
    <Modal opened onClose={onClose} title={t("new.title")} classNames={{ title: "dialog-title" }} size={520} fullScreen={phone} closeButtonProps={{ "aria-label": t("common:act.close") }}>
      <form onSubmit={(event) => void submit(event)}>
        {input("name", t("new.name"), name, setName, { "data-autofocus": true, maxLength: 100, "aria-describedby": `${id}-id` })}
        <p id={`${id}-id`} className="fact-hint" aria-live="polite">{name && !wanted ? <span className="err">{t("new.badName")}</span> : taken ? <span className="err">{t("new.taken", { id: wanted })}</span> : wanted ? t("new.id", { id: wanted }) : t("new.nameHint")}</p>
        {twin && <p className="form-note"><Icon name="info" size={14} />{t(scope === "workspace" ? "new.hides" : "new.hidden")}</p>}
        {input("about", t("new.about"), description, setDescription, { maxLength: 400, placeholder: t("new.aboutHint") })}
        <div className="form-row"><span className="form-label">{t("new.scope")}</span>
          <Segments<Scope> label={t("new.scope")} value={scope} onChange={setScope} options={[{ value: "workspace", label: folderName(workspace.path), disabled: !mayHere }, { value: "global", label: t("settings:global"), disabled: !mayShared }]} />
          <p className="fact-hint">{t(scope === "workspace" ? "new.scopeHere" : "new.scopeShared")}</p></div>
        <div className="form-row"><label htmlFor={`${id}-from`}>{t("new.from")}</label>
          <Select id={`${id}-from`} data={[{ value: "", label: t("new.blank") }, ...rows.filter((row) => row.model !== null && !row.internal).map((row) => ({ value: keyOf(row), label: row.scope === "workspace" ? `${row.name} (${t("scope.workspace")})` : row.name }))]} value={template} allowDeselect={false} onChange={(next) => setTemplate(next ?? "")} comboboxProps={{ zIndex: 400 }} /></div>
        {fault && <p className="err sm" role="alert">{fault}</p>}
        <div className="dialog-foot"><button type="button" className="btn" onClick={onClose}>{t("common:act.cancel")}</button><button className="btn primary" disabled={!wanted || taken || busy} aria-busy={busy}>{t("new.button")}</button></div>
      </form>
    </Modal>
  );
}
