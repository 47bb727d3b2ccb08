import { useId, useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { changePassword, logoutEverywhere } from "@/api/auth";
import { ApiError, errorText } from "@/api/client";
import { useAuth } from "@/shared/auth";
import { Icon } from "@/shared/ui/Icon";
import { leave } from "@/shell/TopBar";
import { passwordRules } from "./model";

/** Change the password (rules ticked while typing), log out here or everywhere. */
export function AccountSection() {
  const { t } = useTranslation(["settings", "shell"]);
  const { user, passwordManaged } = useAuth();
  const id = useId();
  const [old, setOld] = useState("");
  const [wanted, setWanted] = useState("");
  const [again, setAgain] = useState("");
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<{ good: boolean; text: string } | null>(null);
  const rules = passwordRules(old, wanted, again);
  const ready = old !== "" && Object.values(rules).every(Boolean);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || busy) return;
    setBusy(true);
    setAnswer(null);
    try {
      await changePassword(old, wanted);
      setOld("");
      setWanted("");
      setAgain("");
      setAnswer({ good: true, text: t("password.done") });
    } catch (cause) {
      setAnswer({ good: false, text: cause instanceof ApiError && cause.status === 401 ? t("password.wrong") : errorText(cause) });
    } finally {
      setBusy(false);
    }
  };
  const input = (name: string, label: string, value: string, set: (text: string) => void, auto: string) => (
    <>
      <label htmlFor={`${id}-${name}`} className="setting-label">{label}</label>
      <div className="field"><input id={`${id}-${name}`} type="password" autoComplete={auto} value={value} onChange={(event) => set(event.target.value)} /></div>
    </>
  );

  return (
    <div className="card">
      <div className="setting">
        <div><div className="setting-name">{t("password.title")}</div><div className="setting-text">{t("password.text")}</div><div className="setting-text">{t("shell:signedInAs", { username: user?.username ?? "" })}</div></div>
        {passwordManaged ? <p className="setting-note t2"><Icon name="lock" size={14} />{t("password.managed")}</p> : (
          <form className="password-form" onSubmit={(event) => void submit(event)}>
            <input hidden readOnly autoComplete="username" value={user?.username ?? ""} />
            {input("old", t("password.old"), old, setOld, "current-password")}
            {input("new", t("password.new"), wanted, setWanted, "new-password")}
            <ul className="password-rules">
              {(["length", "letter", "digit", "differs", "matches"] as const).map((rule) => (
                <li key={rule} className={rules[rule] ? "ok" : "t3"}>{rules[rule] ? <Icon name="check" size={12} /> : <span className="password-open" />}{t(`password.${rule}`)}</li>
              ))}
            </ul>
            {input("again", t("password.again"), again, setAgain, "new-password")}
            <button className="btn primary" disabled={!ready || busy}>{t(busy ? "password.submitting" : "password.submit")}</button>
            <div role="status">{answer && <p className={answer.good ? "setting-note ok" : "setting-note err"}><Icon name={answer.good ? "check" : "alert"} size={14} />{answer.text}</p>}</div>
          </form>
        )}
      </div>
      <div className="setting">
        <div><div className="setting-name">{t("logout")}</div><div className="setting-text">{t("logoutText")}</div></div>
        <div><button className="btn" onClick={() => void leave()}>{t("logout")}</button></div>
      </div>
      <div className="setting">
        <div><div className="setting-name">{t("logoutAll")}</div><div className="setting-text">{t("logoutAllText")}</div></div>
        <div><button className="btn" onClick={() => void leave(logoutEverywhere)}>{t("logoutAll")}</button></div>
      </div>
    </div>
  );
}
