import { Select, Switch } from "@mantine/core";
import { useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { resetSetting, setSetting, type Scope, type SettingField, type SettingValue } from "@/api/settings";
import { currentLanguage } from "@/shared/i18n";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { mayReset, nameOf, readInput, shown, sourceOf, textOf, type Lock } from "./model";

interface Props {
  field: SettingField;
  scope: Scope;
  project: string;
  locked: Lock;
  onChanged: () => Promise<unknown>;
  onSwitchGlobal: () => void;
}

type Status = { kind: "idle" } | { kind: "saving" } | { kind: "saved"; time: string } | { kind: "refused"; text: string };

export const clock = (): string => new Intl.DateTimeFormat(currentLanguage(), { hour: "2-digit", minute: "2-digit", hour12: false }).format(Date.now());

/** One setting: name and text, control, source and reset. Saved on blur or Enter; a refused value stays in the field. */
export function FieldRow({ field, scope, project, locked, onChanged, onSwitchGlobal }: Props) {
  const { t } = useTranslation("settings");
  const id = useId();
  const [status, setStatus] = useState<Status>({ kind: "idle" });
  const chinese = currentLanguage() === "zh-CN";
  // Names are made from keys, which are English; in Chinese the description is the name.
  const translated = chinese && field.descriptionZh !== "";
  const name = translated ? field.descriptionZh : nameOf(field);

  const save = async (value: SettingValue) => {
    setStatus({ kind: "saving" });
    try {
      await (value === null ? resetSetting(scope, project, field.path) : setSetting(scope, project, field.path, value));
      await onChanged();
      setStatus({ kind: "saved", time: clock() });
    } catch (cause) {
      setStatus({ kind: "refused", text: t("notSaved", { error: `${errorText(cause).replace(/\.$/, "")}.` }) });
    }
  };
  const refuse = (text: string) => setStatus({ kind: "refused", text: t("notSaved", { error: text }) });
  const control = { id, field, name, disabled: locked !== null, save, refuse, bad: status.kind === "refused" };
  const source = sourceOf(field, scope);

  return (
    <div className="setting" data-key={field.path}>
      <div>
        <label className="setting-name" htmlFor={id}>{name}</label>
        <div className="setting-text" id={`${id}-text`}>{translated ? "" : textOf(field, chinese)}</div>
        <code className="setting-key">{field.path}</code>
      </div>
      <div className="setting-control">
        <Control {...control} />
        {locked === "global" && <p className="setting-note t3"><Icon name="globe" size={14} />{t("globalOnly")} <button className="link-btn" onClick={onSwitchGlobal}>{t("switchGlobal")}</button></p>}
        {locked === "owner" && <p className="setting-note t3"><Icon name="lock" size={14} />{t("ownerOnly")}</p>}
        {locked === "level" && <p className="setting-note t3"><Icon name="lock" size={14} />{t("noWrite")}</p>}
        <div aria-live="polite">
          {status.kind === "idle" && field.error && <p className="setting-note err"><Icon name="alert" size={14} />{field.error}</p>}
          {status.kind === "saving" && <p className="setting-note t3">{t("saving")}</p>}
          {status.kind === "saved" && <p className="setting-note ok"><Icon name="check" size={14} />{t("savedAt", { time: status.time })}</p>}
          {status.kind === "refused" && <p className="setting-note err"><Icon name="alert" size={14} />{status.text}</p>}
        </div>
      </div>
      <div className="setting-source">
        <span className={source === "workspace" ? "chip accent" : source === "inherited" ? "chip outline" : "chip"}>{t(`source.${source}`)}</span>
        {mayReset(field, scope) && locked === null && <button className="link-btn xs" onClick={() => void save(null)}>{t(scope === "workspace" ? "resetGlobal" : "reset")}</button>}
        {field.needsRestart && <span className="xs warn row setting-restart"><Icon name="retry" size={12} />{t("restart")}</span>}
      </div>
    </div>
  );
}

interface ControlProps {
  id: string;
  field: SettingField;
  name: string;
  disabled: boolean;
  bad: boolean;
  save: (value: SettingValue) => Promise<void>;
  refuse: (text: string) => void;
}

function Control(props: ControlProps) {
  const { t } = useTranslation("settings");
  const { id, field, name, disabled, save } = props;
  if (field.kind === "secret" || field.secret) return <SecretControl {...props} />;
  if (field.type === "boolean") {
    const on = String(field.value ?? field.default ?? "false") === "true";
    return <Switch id={id} checked={on} disabled={disabled} label={t(on ? "on" : "off")} onChange={(event) => void save(event.currentTarget.checked)} />;
  }
  if (field.type === "enum") {
    const options = field.options.map((value, index) => ({ value, label: field.optionLabels[index] ?? value }));
    const value = String(field.value ?? field.default ?? "");
    if (options.length <= 4) return <Segments label={name} value={value} options={options} disabled={disabled} onChange={(next) => void save(next)} />;
    return <Select id={id} data={options} value={value} disabled={disabled} w={300} onChange={(next) => next !== null && void save(next)} />;
  }
  return <TextControl {...props} />;
}

function TextControl({ id, field, name, disabled, bad, save, refuse }: ControlProps) {
  const { t } = useTranslation("settings");
  const now = shown(field);
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  const number = field.type === "int" || field.type === "float";

  const commit = () => {
    if (text === now) return;
    const read = readInput(field, text);
    if ("value" in read) return void save(read.value);
    return refuse(read.refused.kind === "range" ? t("range", { low: read.refused.low, high: read.refused.high }) : t(read.refused.kind));
  };

  return (
    <div className={bad ? "field bad" : "field"} style={number ? { width: 180 } : undefined}>
      <input id={id} className={number ? "num" : "mono"} value={text} disabled={disabled} inputMode={number ? "decimal" : undefined} spellCheck={false} aria-label={name} aria-describedby={`${id}-text`} aria-invalid={bad}
        placeholder={field.type === "list" ? t("listHint") : t("unset")} onChange={(event) => setText(event.target.value)} onBlur={commit}
        onKeyDown={(event) => { if (event.key === "Enter") event.currentTarget.blur(); if (event.key === "Escape") setText(now); }} />
      {field.unit && <span className="t3 sm">{field.unit}</span>}
    </div>
  );
}

/** Write-only: the stored value never comes back, only its mask. */
function SecretControl({ id, field, name, disabled, bad, save }: ControlProps) {
  const { t } = useTranslation(["settings", "common"]);
  const [text, setText] = useState<string | null>(null);
  const commit = async () => {
    if (!text) return;
    await save(text);
    setText(null);
  };
  if (text === null) {
    return (
      <div className="row">
        <div className="field secret" id={id}><Icon name="lock" size={14} /><span className="mono clip grow t2">{field.hasValue ? String(field.value) : t("secretUnset")}</span></div>
        {!disabled && <button className="btn" onClick={() => setText("")}>{t(field.hasValue ? "replace" : "setSecret")}</button>}
      </div>
    );
  }
  return (
    <form className="row" onSubmit={(event) => { event.preventDefault(); void commit(); }}>
      <div className={bad ? "field bad" : "field"}><Icon name="key" size={14} /><input id={id} type="password" autoComplete="off" autoFocus aria-label={name} placeholder={t("newSecret")} value={text} onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && setText(null)} /></div>
      <button className="btn primary" disabled={!text}>{t("common:act.save")}</button>
      <button type="button" className="btn ghost" onClick={() => setText(null)}>{t("common:act.cancel")}</button>
    </form>
  );
}
