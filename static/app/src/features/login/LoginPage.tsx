import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { health, savePrefs } from "@/api/auth";
import { refreshAuth } from "@/shared/auth";
import { currentLanguage, LANGUAGES, setLanguage } from "@/shared/i18n";
import { LAST_WINDOW, tabStorage } from "@/shared/storage";
import { setTheme, useTheme } from "@/shared/theme/store";
import { Segments } from "@/shared/ui/Segments";
import { LoginForm } from "./LoginForm";
import "./login.css";

/** The first page of everyone: sign in; language and theme below, kept by this browser until the login tells more. */
export function LoginPage() {
  const { t } = useTranslation(["login", "common"]);
  const { theme } = useTheme();
  const [version, setVersion] = useState("");

  // What was chosen here is a choice like in the settings: it goes to the server once we may.
  const chosen = useRef<{ theme?: string; language?: string }>({});
  const enter = async () => {
    if (Object.keys(chosen.current).length > 0) await savePrefs(chosen.current).catch(() => undefined); // only looks: entering matters more
    await refreshAuth();
  };

  useEffect(() => tabStorage.remove(LAST_WINDOW), []);
  useEffect(() => {
    health().then((answer) => setVersion(answer.version), () => setVersion("")); // a nicety: its absence says nothing
  }, []);

  return (
    <main className="login">
      <div className="login-column">
        <div className="halo-mark login-mark" />
        <h1>{t("title")}</h1>
        <p className="t2 login-where">{[window.location.hostname, version && t("version", { version })].filter(Boolean).join(", ")}</p>
        <div className="login-panel"><LoginForm onDone={enter} /></div>
        <p className="t3 sm login-hint">{t("firstStart")} <code className="t2">make run</code></p>
        <div className="login-looks">
          <Segments label={t("language")} value={currentLanguage()} onChange={(value) => { chosen.current.language = value; void setLanguage(value); }}
            options={LANGUAGES.map((value) => ({ value, label: t(`common:language.${value}`) }))} />
          <Segments label={t("theme")} value={theme} onChange={(value) => { chosen.current.theme = value; setTheme(value); }}
            options={(["dark", "light"] as const).map((value) => ({ value, label: t(`common:theme.${value}`) }))} />
        </div>
      </div>
    </main>
  );
}
