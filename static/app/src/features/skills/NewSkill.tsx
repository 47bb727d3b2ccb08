import { Modal } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useId, useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import type { Scope } from "@/api/settings";
import { makeSkill, type SkillRow } from "@/api/skills";
import type { Workspace } from "@/api/workspaces";
import { folderName } from "@/features/workspace";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { usePhone } from "@/shared/useMedia";

interface Props {
  workspace: Workspace;
  rows: readonly SkillRow[];
  mayShared: boolean;
  mayHere: boolean;
  onClose: () => void;
  onMade: (row: SkillRow) => void;
}

/** A new folder with a SKILL.md to fill in. */
export function NewSkill({ workspace, rows, mayShared, mayHere, onClose, onMade }: Props) {
  const { t } = useTranslation(["skills", "common", "settings"]);
  const id = useId();
  const phone = usePhone();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [command, setCommand] = useState("");
  const [scope, setScope] = useState<Scope>(mayHere ? "workspace" : "global");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState("");
  const slash = command.trim() && `/${command.trim().replace(/^\//, "")}`;
  const clash = slash ? rows.find((row) => row.command === slash && !row.overridden) : undefined;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!name.trim() || busy) return;
    setBusy(true);
    setFault("");
    try {
      const { skill } = await makeSkill(workspace.path, scope, name.trim(), description.trim(), slash);
      await client.invalidateQueries({ queryKey: ["skills"] });
      onMade(skill);
    } catch (cause) {
      setFault(errorText(cause));
      setBusy(false);
    }
  };
  const input = (what: string, label: string, value: string, set: (text: string) => void, more = {}) => (
    <div className="form-row"><label htmlFor={`${id}-${what}`}>{label}</label><div className="field"><input id={`${id}-${what}`} value={value} autoComplete="off" onChange={(event) => set(event.target.value)} {...more} /></div></div>
  );

  return (
    <Modal opened onClose={onClose} title={t("new.title")} classNames={{ title: "dialog-title" }} size={520} fullScreen={phone} closeButtonProps={{ "aria-label": t("common:act.close") }}>
      <form onSubmit={(event) => void submit(event)}>
        {input("name", t("new.name"), name, setName, { "data-autofocus": true, maxLength: 100 })}
        {input("about", t("new.about"), description, setDescription, { maxLength: 400, placeholder: t("new.aboutHint") })}
        {input("command", t("new.command"), command, setCommand, { maxLength: 40, placeholder: t("new.commandHint"), className: "mono" })}
        {clash && <p className="form-note"><Icon name="info" size={14} />{t("new.clash", { name: clash.name })}</p>}
        <div className="form-row"><span className="form-label">{t("new.scope")}</span>
          <Segments<Scope> label={t("new.scope")} value={scope} onChange={setScope} options={[{ value: "workspace", label: folderName(workspace.path), disabled: !mayHere }, { value: "global", label: t("settings:global"), disabled: !mayShared }]} /></div>
        {fault && <p className="err sm" role="alert">{fault}</p>}
        <div className="dialog-foot"><button type="button" className="btn" onClick={onClose}>{t("common:act.cancel")}</button><button className="btn primary" disabled={!name.trim() || busy} aria-busy={busy}>{t("new.button")}</button></div>
      </form>
    </Modal>
  );
}
