import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { listProviders, resetSetting, settingsSchema, type Scope, type SettingField, type SettingsSchema } from "@/api/settings";
import type { Workspace } from "@/api/workspaces";
import { providersKey } from "@/features/firstrun";
import { folderName } from "@/features/workspace";
import { useAuth } from "@/shared/auth";
import { currentLanguage } from "@/shared/i18n";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { Ring } from "@/shared/ui/Ring";
import { Segments } from "@/shared/ui/Segments";
import { Skeletons } from "@/shared/ui/Skeletons";
import { socket } from "@/socket";
import { showDialog, useShell } from "@/shell/store";
import { NotBuilt } from "@/shell/NotBuilt";
import { AccountSection } from "./AccountSection";
import { FieldRow } from "./FieldRow";
import { LooksSection } from "./LooksSection";
import { generalGroups, lockOf, matchesSearch, nameIn } from "./model";
import { ProviderTest } from "./ProviderTest";
import "./settings.css";

interface NavItem {
  id: string;
  label: string;
  icon?: IconName;
  ring?: "ok" | "off" | "new";
  note?: string;
}

const GENERAL_ICON: Record<string, IconName> = { agent: "agent", session: "chat", sandbox: "shield", outbound: "globe", compact: "brain", relay: "relay", evolution: "evo", limits: "filter", server: "server", logging: "list", other: "gear" };

/** Settings: a list of sections at the side, one section in the middle. What can be set comes from the server's schema. */
export default function SettingsPage({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["settings", "common", "shell"]);
  const superuser = useAuth((state) => state.user?.isSuperuser ?? false);
  const wanted = useShell((state) => state.settingsSection);
  const [scope, setScope] = useState<Scope>(superuser ? "global" : "workspace");
  const [section, setSection] = useState("");
  const [find, setFind] = useState("");
  const [list, setList] = useState(true); // phone: list or section, one at a time
  const client = useQueryClient();
  const schema = useQuery({ queryKey: ["settings", scope, workspace.path], queryFn: () => settingsSchema(scope === "workspace" ? workspace.path : null) });
  const providers = useQuery({ queryKey: providersKey(workspace.path), queryFn: () => listProviders(workspace.path) });
  const chinese = currentLanguage() === "zh-CN";

  const refresh = () => Promise.all([client.invalidateQueries({ queryKey: ["settings"] }), client.invalidateQueries({ queryKey: ["providers"] })]);
  useEffect(() => socket.onFrame((frame) => {
    if ((frame.type as string) === "settings:changed") void refresh();
  }), []);
  useEffect(() => {
    if (!wanted) return;
    setSection(wanted);
    setList(false);
  }, [wanted]);

  const sections = schema.data?.sections ?? [];
  const general = generalGroups(sections.find((one) => one.group === "general"));
  const ofGroup = (group: string) => sections.filter((one) => one.group === group);
  const known = (id: string) => providers.data?.providers.find((one) => one.id === id);
  const current = providers.data?.current?.provider;
  // providers come first, those in use before the rest; one without fields of its own is listed too
  const providerItems: NavItem[] = (providers.data?.providers ?? []).map((one) => ({
    id: `provider:${one.id}`, label: nameIn(one, chinese), ring: one.id === current ? "ok" : one.hasKey ? "new" : "off",
    ...(one.id === current ? { note: t("inUse") } : one.hasKey ? {} : { note: t("noKey") }),
  }));
  providerItems.sort((a, b) => Number(b.ring === "ok") - Number(a.ring === "ok") || Number(b.ring === "new") - Number(a.ring === "new"));

  const nav: { label: string; items: NavItem[] }[] = [
    { label: t("group.provider"), items: providerItems },
    { label: t("group.general"), items: [{ id: "looks", label: t("section.looks"), icon: "sun" }, ...general.map((group): NavItem => ({ id: group.id, label: t(`general.${group.part}`), icon: GENERAL_ICON[group.part] ?? "gear" }))] },
    { label: t("group.packages"), items: [...ofGroup("skill"), ...ofGroup("agent")].map((one) => ({ id: one.id, label: chinese && one.titleZh ? one.titleZh : one.title || one.id, icon: one.group === "skill" ? "skill" : "agent" })) },
    {
      label: t("group.server"),
      items: [
        { id: "account", label: t("section.account"), icon: "users" }, { id: "extensions", label: t("section.extensions"), icon: "box" },
        { id: "orphans", label: t("section.orphans"), icon: "trash", ...(schema.data?.orphans.length ? { note: String(schema.data.orphans.length) } : {}) },
      ],
    },
  ];
  const shownId = section || (current ? `provider:${current}` : "looks");
  const faults = schema.data?.errors ?? [];
  const restarts = sections.flatMap((one) => one.fields).filter((field) => field.needsRestart && field.hasValue).length;

  const locked = (field: SettingField) => lockOf(field, scope, faults, { superuser, level: workspace.level });
  const rows = (fields: readonly SettingField[]) => (
    <div className="card">{fields.map((field) => <FieldRow key={`${scope}.${field.path}`} field={field} scope={scope} project={workspace.path} locked={locked(field)} onChanged={refresh} onSwitchGlobal={() => setScope("global")} />)}</div>
  );

  const heading = nav.flatMap((group) => group.items).find((item) => item.id === shownId)?.label ?? "";
  const hits = find.trim() ? sections.map((one) => ({ ...one, fields: one.fields.filter((field) => matchesSearch(field, find, one.title)) })).filter((one) => one.fields.length > 0) : null;

  return (
    <div className={list ? "settings list" : "settings"}>
      <aside className="settings-nav" aria-label={t("title")}>
        <div className="side-head">{t("title")}</div>
        <div className="settings-find"><div className="field"><Icon name="search" size={14} /><input type="search" aria-label={t("find")} placeholder={t("find")} value={find} onChange={(event) => { setFind(event.target.value); setList(!event.target.value); }} /></div></div>
        <nav>
          {nav.filter((group) => group.items.length > 0).map((group) => (
            <div key={group.label}>
              <div className="settings-group">{group.label}</div>
              {group.items.map((item) => (
                <button key={item.id} className="settings-item" aria-current={!hits && shownId === item.id ? "page" : undefined} onClick={() => { setSection(item.id); setFind(""); setList(false); }}>
                  {item.ring ? <Ring state={item.ring === "new" ? "idle" : item.ring} labelled={false} /> : item.icon ? <Icon name={item.icon} size={14} /> : null}
                  <span className="clip grow">{item.label}</span>{item.note && <span className="xs t3">{item.note}</span>}
                </button>
              ))}
            </div>
          ))}
        </nav>
        {restarts > 0 && <div className="settings-foot sm t2"><Icon name="retry" size={14} />{t("restartCount", { count: restarts })}</div>}
      </aside>
      <section className="settings-page" aria-label={heading}>
        <header className="settings-head">
          <div className="row">
            <button className="icon-btn settings-back" aria-label={t("common:act.back")} onClick={() => setList(true)}><Icon name="left" /></button>
            <h1>{hits ? t("find") : heading}</h1>
            {!hits && shownId.startsWith("provider:") && (shownId === `provider:${current}` ? <span className="chip ok"><Ring state="ok" labelled={false} />{t("inUse")}</span> : !known(shownId.slice(9))?.hasKey ? <span className="chip">{t("noKey")}</span> : null)}
            <span className="grow" />
            {(hits || !["looks", "account", "extensions"].includes(shownId)) && (
              <div className="row settings-scope"><span className="t3 sm">{t("showValuesOf")}</span>
                <Segments<Scope> label={t("showValuesOf")} value={scope} onChange={setScope} options={[{ value: "global", label: t("global") }, { value: "workspace", label: folderName(workspace.path) }]} /></div>
            )}
          </div>
          <p className="t2">{hits ? "" : about()}</p>
        </header>
        <div className="settings-body">
          {faults.map((fault) => (
            <div key={fault.path} className="settings-fault" role="alert"><Icon name="alert" /><div><strong>{t("broken", { file: fault.path })}</strong><p>{fault.line ? t("brokenLine", { line: fault.line, error: fault.error }) : fault.error}</p><p className="t2">{t("brokenText")}</p></div></div>
          ))}
          {schema.isError && !schema.data ? (
            <div className="settings-fault" role="alert"><Icon name="alert" /><div className="grow"><strong>{t("loadFailed")}</strong><p>{errorText(schema.error)}</p></div><button className="btn small" onClick={() => void schema.refetch()}>{t("common:act.retry")}</button></div>
          ) : schema.isPending ? <Skeletons rows={4} height={64} /> : hits ? (
            hits.length === 0 ? <p className="t3">{t("none")}</p> : hits.map((one) => <div key={one.id}><h2 className="settings-sub">{chinese && one.titleZh ? one.titleZh : one.title || one.id}</h2>{rows(one.fields)}</div>)
          ) : body()}
        </div>
      </section>
    </div>
  );

  function about(): string {
    if (shownId === "looks") return t("about.looks");
    if (shownId === "account") return t("about.account");
    if (shownId === "orphans") return t("about.orphans");
    if (shownId === "extensions") return "";
    if (shownId.startsWith("provider:")) {
      const one = known(shownId.slice(9));
      const text = one ? (chinese && one.description_zh ? one.description_zh : one.description) : "";
      return text || t(scope === "workspace" ? "about.providerWorkspace" : "about.provider");
    }
    if (shownId.startsWith("general.")) return t("about.general");
    return t(ofGroup("skill").some((one) => one.id === shownId) ? "about.skill" : "about.agent");
  }

  function body() {
    if (shownId === "looks") return <LooksSection />;
    if (shownId === "account") return <AccountSection />;
    if (shownId === "extensions") return <NotBuilt what="extensions" />;
    if (shownId === "orphans") return <Orphans schema={schema.data} project={workspace.path} onChanged={refresh} />;
    if (shownId.startsWith("provider:")) {
      const id = shownId.slice(9);
      const fields = sections.find((one) => one.group === "provider" && one.id === id)?.fields ?? [];
      const one = known(id);
      return (
        <>
          {fields.length > 0 && rows(fields)}
          {one && <ProviderTest key={id} provider={one} current={providers.data?.current ?? null} project={workspace.path} />}
          {superuser && <div className="row"><button className="btn" onClick={() => showDialog("connect")}>{t("connect.title")}</button></div>}
        </>
      );
    }
    const group = general.find((one) => one.id === shownId);
    const fields = rows(group?.fields ?? sections.find((one) => one.id === shownId)?.fields ?? []);
    const sandbox = schema.data?.sandbox;
    if (group?.part !== "sandbox" || !sandbox) return fields;
    return <><p className="t2">{sandbox.program ? t("sandboxIs", { ...sandbox }) : t("sandboxMissing", { ...sandbox })}</p>{fields}</>;
  }
}

function Orphans({ schema, project, onChanged }: { schema: SettingsSchema | undefined; project: string; onChanged: () => Promise<unknown> }) {
  const { t } = useTranslation("settings");
  if (!schema?.orphans.length) return <p className="t3">{t("noOrphans")}</p>;
  const remove = (path: string, where: Scope) => resetSetting(where, project, path).then(onChanged, (cause: unknown) => toast.error(errorText(cause)));
  return (
    <div className="card">
      {schema.orphans.map((orphan) => (
        <div key={`${orphan.scope} ${orphan.key}`} className="setting"><code className="setting-name">{orphan.key}</code><span className="t2">{t(`source.${orphan.scope === "workspace" ? "workspace" : "global"}`)}</span>
          <div className="setting-source"><button className="btn small" onClick={() => void remove(orphan.key, orphan.scope === "workspace" ? "workspace" : "global")}>{t("remove")}</button></div></div>
      ))}
    </div>
  );
}
