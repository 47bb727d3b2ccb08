import { Popover } from "@mantine/core";
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { folderExists } from "@/api/workspaces";
import type { Workspace } from "@/api/workspaces";
import { useAuth } from "@/shared/auth";
import { Icon } from "@/shared/ui/Icon";
import { Ring, type RingState } from "@/shared/ui/Ring";
import { dropRecent, readRecent, writeRecent } from "./recent";
import { folderName, open, openPicker } from "./store";
import "./menu.css";

/** The name in the top bar: opens the recent list, takes a typed path, leads to the folder browser. */
export function WorkspaceMenu({ workspace, state }: { workspace: Workspace; state: RingState }) {
  const { t } = useTranslation(["workspace", "common"]);
  const superuser = useAuth((auth) => auth.user?.isSuperuser ?? false);
  const [opened, setOpened] = useState(false);
  const [text, setText] = useState("");
  const [fault, setFault] = useState("");
  const [recent, setRecent] = useState<string[]>([]);

  const toggle = () => {
    setRecent(readRecent());
    setText("");
    setFault("");
    setOpened(!opened);
  };
  const shown = recent.filter((path) => path !== workspace.path && path.toLowerCase().includes(text.toLowerCase()));

  const go = async (path: string) => {
    setFault("");
    try {
      if (superuser) {
        const answer = await folderExists(path);
        if (!answer.exists) return setFault(t("gone", { path }));
        if (answer.isDirectory === false) return setFault(t("notFolder", { path }));
      }
      setOpened(false);
      await open(path);
    } catch (cause) {
      setFault(errorText(cause));
    }
  };

  const onKey = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.key !== "Enter" || !text.trim()) return;
    event.preventDefault();
    void go(text.trim().startsWith("/") ? text.trim() : (shown[0] ?? text.trim()));
  };

  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" shadow="none" trapFocus returnFocus width={380} classNames={{ dropdown: "pop" }}>
      <Popover.Target>
        <button className="ws-button" title={workspace.path} aria-haspopup="dialog" aria-expanded={opened} aria-label={`${folderName(workspace.path)}, ${t("switch")}`} onClick={toggle}>
          <Ring state={state} /><span className="clip">{folderName(workspace.path)}</span><Icon name="down" size={14} />
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t("switch")}>
        <div className="ws-field"><div className={fault ? "field bad" : "field"}>
          <Icon name="folder" size={14} />
          <input data-autofocus aria-label={t("switchTo")} placeholder={t("switchTo")} value={text} spellCheck={false} autoCapitalize="none"
            onChange={(event) => { setText(event.target.value); setFault(""); }} onKeyDown={onKey} />
        </div>{fault && <p className="err sm" role="alert">{fault}</p>}</div>
        <div className="pop-list">
          {shown.map((path) => (
            <div key={path} className="ws-row">
              <button className="pop-row" onClick={() => void go(path)}><Icon name="folder" size={14} /><span className="clip">{folderName(path)}</span><span className="clip sm t3 grow">{path}</span></button>
              <button className="icon-btn small" aria-label={t("dropRecent", { name: folderName(path) })} onClick={() => { const left = dropRecent(recent, path); writeRecent(left); setRecent(left); }}><Icon name="x" size={12} /></button>
            </div>
          ))}
          {text && shown.length === 0 && <p className="pop-empty t3 sm">{t("noMatch")}</p>}
        </div>
        <div className="pop-foot"><button className="pop-row" onClick={() => { setOpened(false); openPicker(); }}><Icon name="search" size={14} />{t("browse")}</button></div>
      </Popover.Dropdown>
    </Popover>
  );
}
