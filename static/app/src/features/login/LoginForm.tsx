import { useEffect, useId, useRef, useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { login } from "@/api/auth";
import { ApiError, errorText } from "@/api/client";
import { storage } from "@/shared/storage";
import { Icon } from "@/shared/ui/Icon";

export type LoginFault = { kind: "wrong" | "network" | "tooManyUnknown" } | { kind: "tooMany"; minutes: number } | { kind: "tooManyHours"; hours: number } | { kind: "failed"; error: string };

/** What to tell the person about a refused login. */
export function loginFault(cause: unknown): LoginFault {
  if (!(cause instanceof ApiError)) return { kind: "failed", error: errorText(cause) };
  if (cause.offline) return { kind: "network" };
  if (cause.status === 401) return { kind: "wrong" };
  if (cause.status === 429) return lockedFor(cause.retryAfter);
  return { kind: "failed", error: cause.message };
}

/** `seconds` as the server says them: up to a day. */
function lockedFor(seconds: number | null): LoginFault {
  if (!seconds) return { kind: "tooManyUnknown" };
  const minutes = Math.max(1, Math.ceil(seconds / 60));
  return minutes < 120 ? { kind: "tooMany", minutes } : { kind: "tooManyHours", hours: Math.ceil(minutes / 60) };
}

interface Props {
  onDone: () => Promise<void> | void;
}

/** User name (filled in) and password; the fault stands under the field it is about, and the password is cleared. */
export function LoginForm({ onDone }: Props) {
  const { t } = useTranslation("login");
  const id = useId();
  const [username, setUsername] = useState(() => storage.get("halo_username") ?? "admin");
  const [password, setPassword] = useState("");
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<LoginFault | null>(null);
  const passwordField = useRef<HTMLInputElement>(null);

  useEffect(() => passwordField.current?.focus(), []);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setFault(null);
    try {
      await login(username.trim(), password);
      storage.set("halo_username", username.trim());
      await onDone();
    } catch (cause) {
      setFault(loginFault(cause));
      setPassword("");
      passwordField.current?.focus();
    } finally {
      setBusy(false);
    }
  };

  const text =
    fault?.kind === "tooMany" ? t("tooMany", { count: fault.minutes })
    : fault?.kind === "tooManyHours" ? t("tooManyHours", { count: fault.hours })
    : fault?.kind === "failed" ? t("failed", { error: fault.error })
    : fault ? t(fault.kind)
    : "";

  return (
    <form className="login-form" onSubmit={(event) => void submit(event)}>
      <label className="login-label" htmlFor={`${id}-user`}>{t("username")}</label>
      <div className="field large">
        <input id={`${id}-user`} name="username" autoComplete="username" autoCapitalize="none" spellCheck={false} required value={username} onChange={(e) => setUsername(e.target.value)} />
      </div>
      <label className="login-label" htmlFor={`${id}-password`}>{t("password")}</label>
      <div className={fault ? "field large bad" : "field large"}>
        <input
          id={`${id}-password`} ref={passwordField} name="password" type={shown ? "text" : "password"} autoComplete="current-password" placeholder={t("password")}
          required value={password} aria-invalid={fault !== null} aria-describedby={`${id}-fault`} onChange={(e) => setPassword(e.target.value)}
        />
        <button type="button" className="icon-btn small" aria-pressed={shown} aria-label={shown ? t("hidePassword") : t("showPassword")} onClick={() => setShown(!shown)}>
          <Icon name="eye" />
        </button>
      </div>
      <div id={`${id}-fault`} className="login-fault" role="alert">{text && (<><Icon name="alert" size={14} />{text}</>)}</div>
      <button className="btn primary large login-submit" disabled={busy} aria-busy={busy}>{busy ? t("submitting") : t("submit")}</button>
    </form>
  );
}
