import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { Trans, useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { browse, homeFolder, listWorkspaces, makeFolder, makeSample, openWorkspace, type Folder, type KnownWorkspace } from "@/api/workspaces";
import { useAuth } from "@/shared/auth";
import { Icon } from "@/shared/ui/Icon";
import { readRecent } from "./recent";
import { enter, folderName } from "./store";
import "./picker.css";

interface Props {
  /** Over an open workspace: can be left without choosing. */
  onCancel?: () => void;
  firstRun?: boolean;
}

/**
 * Choose a folder of the server: path field, places, list. Arrows move, Right goes in, Backspace goes up, Enter opens.
 * Only a superuser may look at the server's folders; everyone else gets the workspaces they are a member of.
 */
export function FolderPicker({ onCancel, firstRun = false }: Props) {
  const superuser = useAuth((state) => state.user?.isSuperuser ?? false);
  return superuser ? <Browser onCancel={onCancel} firstRun={firstRun} /> : <Memberships onCancel={onCancel} />;
}

function Browser({ onCancel, firstRun }: { onCancel: Props["onCancel"]; firstRun: boolean }) {
  const { t } = useTranslation(["workspace", "common"]);
  const [folder, setFolder] = useState<Folder | null>(null);
  const [path, setPath] = useState("");
  const [chosen, setChosen] = useState<string | null>(null);
  const [home, setHome] = useState<string | null>(null);
  const [known, setKnown] = useState<KnownWorkspace[]>([]);
  const [fault, setFault] = useState("");
  const [naming, setNaming] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const asked = useRef(0);

  /** Show a folder; the last question asked wins, whatever order the answers come in. */
  const go = async (where: string | undefined, select: string | null = null) => {
    const question = ++asked.current;
    setFault("");
    try {
      const answer = await browse(where);
      if (question !== asked.current) return;
      setFolder(answer);
      setPath(select ?? answer.path);
      setChosen(select);
    } catch (cause) {
      if (question === asked.current) setFault(errorText(cause));
    }
  };

  useEffect(() => {
    void go(undefined);
    homeFolder().then(setHome, () => setHome(null));
    listWorkspaces().then(setKnown, () => setKnown([])); // a hint in the list; without it folders still open
  }, []);

  const target = path.trim() || folder?.path || "";

  const openTarget = async (where: string) => {
    if (!where || busy) return;
    setBusy(true);
    setFault("");
    try {
      enter(await openWorkspace(where));
    } catch (cause) {
      setFault(errorText(cause));
      setBusy(false);
    }
  };

  const openSample = async () => {
    setFault("");
    setBusy(true);
    try {
      enter(await makeSample());
    } catch (cause) {
      setFault(errorText(cause));
      setBusy(false);
    }
  };

  const create = async () => {
    const name = naming?.trim();
    if (!name || !folder) return setNaming(null);
    try {
      await makeFolder(folder.path, name);
      setNaming(null);
      await go(folder.path, `${folder.path.replace(/\/$/, "")}/${name}`);
      list.current?.focus();
    } catch (cause) {
      setFault(errorText(cause));
    }
  };

  const entries = folder?.entries ?? [];
  const select = (index: number) => {
    const entry = entries[Math.max(0, Math.min(entries.length - 1, index))];
    if (!entry) return;
    setChosen(entry.path);
    setPath(entry.path);
    list.current?.querySelector(`[data-path="${CSS.escape(entry.path)}"]`)?.scrollIntoView({ block: "nearest" });
  };

  const onListKey = (event: KeyboardEvent) => {
    const at = entries.findIndex((entry) => entry.path === chosen);
    if (event.key === "ArrowDown") select(at + 1);
    else if (event.key === "ArrowUp") select(at < 0 ? 0 : at - 1);
    else if (event.key === "Home") select(0);
    else if (event.key === "End") select(entries.length - 1);
    else if (event.key === "ArrowRight" && chosen) void go(chosen);
    else if (event.key === "Backspace" || event.key === "ArrowLeft") {
      if (folder?.parent) void go(folder.parent, folder.path);
    } else if (event.key === "Enter") void openTarget(target);
    else return;
    event.preventDefault();
  };

  const usedBefore = new Map(known.map((workspace) => [workspace.path, workspace]));
  const places = [...new Set(readRecent())].filter((place) => place !== home).slice(0, 4);

  return (
    <section className="picker" aria-labelledby="picker-title">
      <header className="picker-head">
        {firstRun && <div className="row t3 sm picker-step"><span className="halo-mark" />{t("step")}</div>}
        {onCancel && <button className="icon-btn picker-close" aria-label={t("common:act.close")} onClick={onCancel}><Icon name="x" /></button>}
        <h1 id="picker-title">{t("title")}</h1>
        <p className="t2"><Trans t={t} i18nKey="intro" values={{ halo: ".halo" }} components={{ code: <code /> }} /></p>
      </header>
      <form className="picker-path" onSubmit={(event) => { event.preventDefault(); void openTarget(target); }}>
        <div className={fault ? "field bad" : "field"}>
          <Icon name="folder" />
          <input
            className="mono" aria-label={t("path")} value={path} spellCheck={false} autoCapitalize="none" autoFocus aria-invalid={fault !== ""} aria-describedby="picker-fault"
            onChange={(event) => { setPath(event.target.value); setChosen(null); }}
            onKeyDown={(event) => { if (event.key === "ArrowDown") { event.preventDefault(); list.current?.focus(); select(0); } }}
          />
        </div>
        <button type="button" className="btn" disabled={!folder?.parent} onClick={() => folder?.parent && void go(folder.parent, folder.path)}><Icon name="up" size={14} />{t("up")}</button>
        <button type="button" className="btn" disabled={!folder} onClick={() => setNaming("")}><Icon name="plus" size={14} />{t("newFolder")}</button>
      </form>
      <div id="picker-fault" className="picker-fault" role="alert">{fault && <><Icon name="alert" size={14} />{fault}</>}</div>
      <div className="picker-body">
        <nav className="picker-places" aria-label={t("places")}>
          <div className="picker-label">{t("places")}</div>
          {home && <button className="picker-row" onClick={() => void go(home)}><Icon name="home" /><span className="clip">{t("home")}</span></button>}
          {places.map((place) => (
            <button key={place} className="picker-row" title={place} onClick={() => { setPath(place); setChosen(place); }} onDoubleClick={() => void openTarget(place)}>
              <Icon name="folder" /><span className="clip">{folderName(place)}</span>
            </button>
          ))}
          <div className="picker-label">{t("tryFirst")}</div>
          <button className="picker-row tall" onClick={() => void openSample()}>
            <Icon name="spark" /><span><span>{t("sample")}</span><span className="xs t3 picker-sub">{t("sampleText")}</span></span>
          </button>
        </nav>
        <div className="picker-list" role="listbox" aria-label={folder?.path ?? t("path")} tabIndex={0} ref={list} onKeyDown={onListKey}
          aria-activedescendant={chosen && entries.some((entry) => entry.path === chosen) ? `picker-${entries.findIndex((entry) => entry.path === chosen)}` : undefined}>
          {naming !== null && (
            <div className="picker-row">
              <Icon name="folder" />
              <div className="field picker-name">
                <input autoFocus aria-label={t("newFolderName")} placeholder={t("newFolderName")} value={naming} onChange={(event) => setNaming(event.target.value)}
                  onKeyDown={(event) => { event.stopPropagation(); if (event.key === "Enter") void create(); if (event.key === "Escape") setNaming(null); }} />
              </div>
              <button className="btn small" onClick={() => void create()}>{t("create")}</button>
            </div>
          )}
          {entries.map((entry, index) => {
            const before = usedBefore.get(entry.path);
            return (
              <div key={entry.path} id={`picker-${index}`} data-path={entry.path} role="option" aria-selected={entry.path === chosen} aria-disabled={!entry.readable}
                className={entry.path === chosen ? "picker-row on" : entry.readable ? "picker-row" : "picker-row t3"}
                onClick={() => { list.current?.focus(); select(index); }} onDoubleClick={() => void go(entry.path)}>
                <Icon name={entry.readable ? "folder" : "lock"} />
                <span className="clip picker-entry">{entry.name}</span>
                {entry.branch && <span className="chip outline">git, {entry.branch}</span>}
                {before && <span className="chip accent">{t("usedBefore")}</span>}
                <span className="grow" />
                {!entry.readable ? <span className="sm">{t("noPermission")}</span> : entry.path === chosen && <span className="sm t2">Enter</span>}
              </div>
            );
          })}
          {folder && entries.length === 0 && naming === null && <p className="picker-empty t3">{t("empty")}</p>}
          <div className="picker-keys t3 xs" aria-hidden="true">
            <span><kbd className="kbd">↑</kbd> <kbd className="kbd">↓</kbd> {t("keys.move")}</span><span><kbd className="kbd">→</kbd> {t("keys.in")}</span>
            <span><kbd className="kbd">Backspace</kbd> {t("keys.up")}</span><span><kbd className="kbd">Enter</kbd> {t("keys.open")}</span>
          </div>
        </div>
      </div>
      <footer className="picker-foot">
        <span className="t2 sm row"><Icon name="shield" size={14} />{t("rightsAdmin")}</span>
        <span className="grow" />
        <button className="btn primary large" disabled={!target || busy} aria-busy={busy} onClick={() => void openTarget(target)}>
          <span className="clip">{t(busy ? "opening" : "open", { name: folderName(target) })}</span><Icon name="aright" size={14} />
        </button>
      </footer>
    </section>
  );
}

function Memberships({ onCancel }: Pick<Props, "onCancel">) {
  const { t } = useTranslation(["workspace", "common"]);
  const [known, setKnown] = useState<KnownWorkspace[] | null>(null);
  const [fault, setFault] = useState("");

  const load = () => {
    setFault("");
    listWorkspaces().then(setKnown, (cause: unknown) => setFault(errorText(cause)));
  };
  useEffect(load, []);

  const openTarget = async (path: string) => {
    try {
      enter(await openWorkspace(path));
    } catch (cause) {
      setFault(errorText(cause));
    }
  };

  return (
    <section className="picker" aria-labelledby="picker-title">
      <header className="picker-head">
        {onCancel && <button className="icon-btn picker-close" aria-label={t("common:act.close")} onClick={onCancel}><Icon name="x" /></button>}
        <h1 id="picker-title">{t("membersTitle")}</h1>
        <p className="t2">{t("membersIntro")}</p>
      </header>
      <div className="picker-fault" role="alert">{fault && <><Icon name="alert" size={14} />{fault}<button className="link-btn" onClick={load}>{t("common:act.retry")}</button></>}</div>
      <div className="picker-body single">
        <div className="picker-list">
          {known?.length === 0 && <p className="picker-empty t3">{t("noneYet")}</p>}
          {known?.map((workspace) => (
            <button key={workspace.path} className="picker-row" disabled={workspace.missing} onClick={() => void openTarget(workspace.path)}>
              <Icon name="folder" /><span className="clip picker-entry">{workspace.name || folderName(workspace.path)}</span><span className="clip sm t3">{workspace.path}</span>
              <span className="grow" />
              <span className="sm t3">{workspace.missing ? t("missing") : workspace.level ? t(`level.${workspace.level}`) : ""}</span>
            </button>
          ))}
        </div>
      </div>
      <footer className="picker-foot"><span className="t2 sm row"><Icon name="shield" size={14} />{t("rightsMember")}</span></footer>
    </section>
  );
}
