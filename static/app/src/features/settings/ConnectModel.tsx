import { Autocomplete, Modal, Select } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { bindModel, listProviders, testProvider, type ModelWish, type Provider } from "@/api/settings";
import type { Workspace } from "@/api/workspaces";
import { providersKey } from "@/features/firstrun";
import { useAuth } from "@/shared/auth";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { currentLanguage } from "@/shared/i18n";
import { nameIn } from "./model";
import { reportText } from "./report";
import { checkWish, isCloud, OWN_SERVER, regionOf, withRegion, type Way } from "./wish";
import "./connect.css";

interface Props {
  onClose: () => void;
  workspace: Workspace;
  fullScreen: boolean;
}

/** Key of a known provider, any server that speaks chat completions, or a cloud account. Test first, then save and use. */
export default function ConnectModel({ onClose, workspace, fullScreen }: Props) {
  const { t } = useTranslation(["settings", "common"]);
  return (
    <Modal opened onClose={onClose} size={600} padding={0} fullScreen={fullScreen} title={t("connect.title")} classNames={{ title: "dialog-title", header: "connect-header", body: "connect-body" }} closeButtonProps={{ "aria-label": t("common:act.close") }}>
      <Form onClose={onClose} workspace={workspace} />
    </Modal>
  );
}

function Form({ onClose, workspace }: { onClose: () => void; workspace: Workspace }) {
  const { t } = useTranslation(["settings", "common"]);
  const id = useId();
  const client = useQueryClient();
  const superuser = useAuth((state) => state.user?.isSuperuser ?? false);
  const query = useQuery({ queryKey: providersKey(workspace.path), queryFn: () => listProviders(workspace.path) });
  const all = query.data?.providers ?? [];
  const asked = all.filter((one) => one.secrets.length > 0 && one.family !== "demo");
  const offer = { key: asked.filter((one) => !isCloud(one)), own: asked.filter((one) => one.id === OWN_SERVER), cloud: asked.filter(isCloud) };
  const current = query.data?.current;

  const [way, setWay] = useState<Way>("key");
  const [providerId, setProviderId] = useState("");
  const [endpoint, setEndpoint] = useState("");
  const [model, setModel] = useState("");
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [found, setFound] = useState<string[]>([]);
  const [busy, setBusy] = useState<"" | "test" | "save">("");
  const [answer, setAnswer] = useState<{ ok: boolean; text: string } | null>(null);
  const [touched, setTouched] = useState(false);

  const id_ = way === "own" ? OWN_SERVER : providerId;
  const provider = all.find((one) => one.id === id_);
  const chinese = currentLanguage() === "zh-CN";

  const choose = (next: Way, wanted?: string) => {
    const known = offer[next].find((one) => one.id === wanted) ?? offer[next][0];
    const bound = current && known && current.provider === known.id ? current : null;
    setWay(next);
    setProviderId(known?.id ?? "");
    setSecrets({});
    setEndpoint(next === "own" ? (bound && bound.endpoint !== known?.defaultEndpoint ? bound.endpoint : (known?.endpointPresets.find((preset) => preset.startsWith("http://")) ?? "")) : (bound?.endpoint || known?.defaultEndpoint || ""));
    setModel(next === "own" ? (bound?.model ?? "") : (bound?.model ?? known?.defaultModelId ?? ""));
    setFound([]);
    setAnswer(null);
    setTouched(false);
  };
  useEffect(() => {
    if (!query.data || providerId) return;
    const used = query.data.providers.find((one) => one.id === query.data.current?.provider);
    choose(used && isCloud(used) ? "cloud" : "key", used?.id);
  }, [query.data]);

  const given = Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== ""));
  const wish: ModelWish = { provider: id_, model: model.trim(), endpoint: endpoint.trim(), ...(Object.keys(given).length > 0 ? { secrets: given } : {}) };
  const faults = checkWish(way, wish, provider);
  const faultText = (name: "endpoint" | "model") => (touched && faults[name] ? t(`connect.${faults[name]}`) : "");
  const models = [...new Set([...found, ...(way !== "own" ? (provider?.models ?? []).map((one) => one.id) : [])])];

  const run = async (what: "test" | "save") => {
    setTouched(true);
    if (Object.keys(faults).length > 0 || busy) return;
    setBusy(what);
    setAnswer(null);
    try {
      if (what === "test") {
        const report = await testProvider(workspace.path, wish);
        setFound(report.models);
        setAnswer({ ok: report.ok, text: reportText(t, report, false) });
      } else {
        await bindModel(workspace.path, wish);
        await Promise.all([client.invalidateQueries({ queryKey: ["providers"] }), client.invalidateQueries({ queryKey: ["settings"] })]);
        toast.say(t("connect.done", { model: wish.model }));
        onClose();
        return;
      }
    } catch (cause) {
      setAnswer({ ok: false, text: errorText(cause) });
    }
    setBusy("");
  };

  const card = (name: Way, icon: IconName, title: string, text: string) => (
    <button type="button" role="radio" aria-checked={way === name} className="connect-way" onClick={() => choose(name)}><Icon name={icon} size={20} /><span><strong>{title}</strong><span className="sm t2">{text}</span></span></button>
  );

  const secret = (key: string, label: string, hint = "", none = label) => {
    const fault = touched && faults.secrets?.includes(key) ? t("connect.keyMissing") : "";
    return (
      <Labelled key={key} id={`${id}-${key}`} label={label} hint={hint} fault={fault}>
        <Secret id={`${id}-${key}`} value={secrets[key] ?? ""} set={(text) => setSecrets((old) => ({ ...old, [key]: text }))} bad={fault !== ""} placeholder={provider?.hasKey && way !== "own" ? t("connect.keyStored") : none} />
      </Labelled>
    );
  };
  const labelOf = (one: Provider["secrets"][number]) => (one.key === "api_key" && way === "key" ? t("connect.apiKey") : (chinese && one.description_zh) || one.description);
  const picker = (
    <Labelled id={`${id}-provider`} label={t("connect.provider")}>
      <Select id={`${id}-provider`} size="md" allowDeselect={false} data={offer[way].map((one) => ({ value: one.id, label: nameIn(one, chinese) }))} value={providerId} onChange={(next) => next && choose(way, next)} comboboxProps={{ zIndex: 400 }} />
    </Labelled>
  );
  const modelField = (
    <Labelled id={`${id}-model`} label={t("connect.model")} fault={faultText("model")}><Autocomplete id={`${id}-model`} size="md" data={models} value={model} onChange={setModel} placeholder={t("connect.modelHint")} error={faultText("model") !== ""} comboboxProps={{ zIndex: 400 }} /></Labelled>
  );
  const addressField = (presets: readonly string[], mono = false) => (
    <Labelled id={`${id}-address`} label={t("connect.address")} fault={faultText("endpoint")}><Autocomplete id={`${id}-address`} size="md" {...(mono ? { classNames: { input: "mono-input" } } : {})} data={[...presets]} value={endpoint} onChange={setEndpoint} error={faultText("endpoint") !== ""} comboboxProps={{ zIndex: 400 }} /></Labelled>
  );
  const presets = provider?.endpointPresets ?? [];
  const regions = presets.flatMap((preset) => regionOf(preset) ?? []);
  const region = regionOf(endpoint);

  if (query.isError) return <div className="connect-pad"><p className="err">{errorText(query.error)}</p><button className="btn" onClick={() => void query.refetch()}>{t("common:act.retry")}</button></div>;
  return (
    <form noValidate onSubmit={(event) => { event.preventDefault(); void run("save"); }}>
      <p className="t2 connect-intro">{t("connect.text")}</p>
      <div className="connect-ways" role="radiogroup" aria-label={t("connect.title")}>
        {card("key", "key", t("connect.key"), t("connect.keyText", { count: offer.key.length }))}
        {card("own", "server", t("connect.own"), t("connect.ownText"))}
        {offer.cloud.length > 0 && card("cloud", "globe", t("connect.cloud"), t("connect.cloudText"))}
      </div>
      <div className="connect-fields">
        {way === "key" && (
          <>
            {picker}
            {provider?.secrets.map((one) => secret(one.key, labelOf(one)))}
            <div className="connect-two">{modelField}{addressField(presets)}</div>
          </>
        )}
        {way === "own" && (
          <>
            {addressField(presets.filter((preset) => preset.startsWith("http://")), true)}
            <div className="connect-two">{modelField}{secret("api_key", t("connect.apiKey"), t("connect.keyOptional"), t("connect.notNeeded"))}</div>
          </>
        )}
        {way === "cloud" && (
          <>
            {picker}
            <div className="connect-two">
              <Labelled id={`${id}-region`} label={t("connect.region")}>
                <Autocomplete id={`${id}-region`} key={providerId} size="md" data={regions} disabled={region === null} defaultValue={region ?? ""} placeholder={t("connect.regionNone")} comboboxProps={{ zIndex: 400 }}
                  onChange={(next) => { if (/^[a-z]{2}(-[a-z]+)+-\d$/.test(next)) setEndpoint(withRegion(endpoint, next)); }} />
              </Labelled>
              {modelField}
            </div>
            {addressField(presets, true)}
            {provider?.secrets.map((one) => secret(one.key, labelOf(one), "", one.optional ? t("connect.optional") : ""))}
          </>
        )}
        <div role="status" className="connect-status">{answer && <div className={answer.ok ? "connect-answer good" : "connect-answer bad"}><Icon name={answer.ok ? "check" : "alert"} size={14} /><span>{answer.text}</span></div>}</div>
      </div>
      <footer className="connect-foot">
        <span className="t3 sm grow">{superuser ? t("connect.stored") : t("connect.notAllowed")}</span>
        <button type="button" className="btn large" disabled={!superuser || busy !== ""} aria-busy={busy === "test"} onClick={() => void run("test")}>{t(busy === "test" ? "testing" : "connect.test")}</button>
        <button className="btn primary large" disabled={!superuser || busy !== ""} aria-busy={busy === "save"}>{t(busy === "save" ? "connect.saving" : "connect.save")}</button>
      </footer>
    </form>
  );
}

function Labelled({ id, label, hint, fault, children }: { id: string; label: string; hint?: string; fault?: string; children: React.ReactNode }) {
  return (
    <div className="connect-field">
      <label htmlFor={id}>{label}{hint && <span className="t3"> {hint}</span>}</label>
      {children}
      {fault && <p className="err sm" role="alert">{fault}</p>}
    </div>
  );
}

const Secret = ({ id, value, set, bad, placeholder }: { id: string; value: string; set: (text: string) => void; bad: boolean; placeholder: string }) => (
  <div className={bad ? "field large bad" : "field large"}><input id={id} type="password" autoComplete="off" spellCheck={false} placeholder={placeholder} value={value} onChange={(event) => set(event.target.value)} /><Icon name="lock" size={14} /></div>
);
