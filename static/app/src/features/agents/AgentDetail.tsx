import { Modal } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { deleteAgent, toggleAgent, type AgentRow } from "@/api/agents";
import { errorText } from "@/api/client";
import type { Workspace } from "@/api/workspaces";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import { TabList } from "@/shared/ui/Tabbed";
import { chooseAgent, focusComposer, openDraft } from "@/shell/chatPort";
import { showPage } from "@/shell/store";
import { Chips } from "./AgentsPage";
import { copyAgent } from "./copyAgent";
import { keyOf, lineOf, offered, scopeOf } from "./model";
import { Overview } from "./Overview";
import { PromptTab } from "./PromptTab";
import { TextsTab } from "./TextsTab";
import { useRefresh } from "./useAgents";
import { YamlTab } from "./YamlTab";

interface Props {
  row: AgentRow;
  rows: readonly AgentRow[];
  workspace: Workspace;
  /** May change what belongs to the server. */
  mayShared: boolean;
  /** May change what belongs to this workspace. */
  mayHere: boolean;
  onPick: (key: string) => void;
}

const TABS = ["overview", "yaml", "texts", "prompt"] as const;
type Tab = (typeof TABS)[number];

export function AgentDetail({ row, rows, workspace, mayShared, mayHere, onPick }: Props) {
  const { t } = useTranslation(["agents", "common"]);
  const refresh = useRefresh();
  const [tab, setTab] = useState<Tab>("overview");
  const [line, setLine] = useState(0);
  const [asking, setAsking] = useState(false);
  const [busy, setBusy] = useState(false);
  const project = workspace.path;
  const key = { id: row.id, scope: scopeOf(row) };
  const mayEdit = key.scope === "workspace" ? mayHere : mayShared;
  const twin = rows.find((one) => one.id === row.id && one.scope !== row.scope);
  const faultLine = lineOf(row.error);

  const act = async (what: () => Promise<unknown>) => {
    if (busy) return;
    setBusy(true);
    try {
      await what();
    } catch (cause) {
      toast.error(errorText(cause));
    }
    await refresh();
    setBusy(false);
  };
  const start = () => {
    chooseAgent(row.id);
    showPage("sessions");
    openDraft();
    focusComposer();
  };
  const toggle = () => act(() => toggleAgent(project, key));
  const takeOver = () => act(async () => {
    const made = await copyAgent({ project, from: key, scope: "workspace", name: row.id, description: row.description, verbatim: true });
    onPick(keyOf(made));
  });
  const remove = () => act(async () => {
    setAsking(false);
    await deleteAgent(project, key);
  });
  const mend = () => {
    setLine(faultLine);
    setTab("yaml");
  };

  return (
    <>
      <header className="pane-head">
        <div className="row"><h1>{row.name}</h1><Chips row={row} scope /></div>
        <p className="pane-about">{row.description || t("noDescription")}</p>
        <div className="pane-acts">
          {offered(row) && <button className="btn primary" onClick={start}><Icon name="chat" size={14} />{t("act.start")}</button>}
          {mayHere && <button className="btn" disabled={busy} onClick={() => void toggle()}><Icon name={row.disabled ? "play" : "pause"} size={14} />{t(row.disabled ? "act.enable" : "act.disable")}</button>}
          {key.scope === "global" && !row.internal && !twin && mayHere && <button className="btn" disabled={busy} onClick={() => void takeOver()}><Icon name="copy" size={14} />{t("act.takeOver")}</button>}
          {mayEdit && !row.builtIn && <button className="btn ghost" disabled={busy} onClick={() => setAsking(true)}><Icon name="trash" size={14} />{t("common:act.delete")}</button>}
        </div>
      </header>
      <TabList<Tab> label={row.name} value={tab} panel="agent-panel" onChange={setTab} options={TABS.map((value) => ({ value, label: t(`tab.${value}`) }))} />
      <div id="agent-panel" role="tabpanel" aria-label={t(`tab.${tab}`)} className={tab === "overview" ? "pane-body" : "pane-body filled"}>
        {row.error && tab === "overview" && (
          <div className={row.model ? "pane-note asks" : "pane-note bad"} role="alert">
            <Icon name="alert" size={16} />
            <div className="grow"><strong>{t("broken", { file: `${row.path}/agent.yaml` })}</strong><p>{row.error}</p></div>
            <button className="btn small" onClick={mend}>{faultLine > 0 ? t("act.mendLine", { line: faultLine }) : t("act.mend")}</button>
          </div>
        )}
        {tab === "overview" && row.overridden && <div className="pane-note"><Icon name="info" size={16} /><p>{t("overriddenText")} <button className="link-btn" onClick={() => onPick(`workspace/${row.id}`)}>{t("act.showOther")}</button></p></div>}
        {tab === "overview" && !row.overridden && twin && <div className="pane-note"><Icon name="info" size={16} /><p>{t("overridesText")} <button className="link-btn" onClick={() => onPick(keyOf(twin))}>{t("act.showOther")}</button></p></div>}
        {tab === "overview" && <Overview row={row} rows={rows} project={project} mayEdit={mayEdit} onPick={onPick} />}
        {tab === "yaml" && <YamlTab agent={key} project={project} mayEdit={mayEdit} line={line} why={mayEdit ? "" : t(key.scope === "global" ? "ownerOnly" : "fullOnly")} />}
        {tab === "texts" && <TextsTab agent={key} project={project} mayEdit={mayEdit} />}
        {tab === "prompt" && <PromptTab row={row} project={project} />}
      </div>
      <Modal opened={asking} onClose={() => setAsking(false)} title={t("delete.title", { name: row.name })} classNames={{ title: "dialog-title" }} size={460} closeButtonProps={{ "aria-label": t("common:act.close") }}>
        <p className="t2 dialog-text">{t("delete.text")} <code className="mono">{row.path}</code></p>
        <div className="dialog-foot"><button className="btn" onClick={() => setAsking(false)}>{t("common:act.cancel")}</button><button className="btn danger" data-autofocus onClick={() => void remove()}>{t("delete.button")}</button></div>
      </Modal>
    </>
  );
}
