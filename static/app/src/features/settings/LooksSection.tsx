import { Switch } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { currentLanguage, LANGUAGES, setLanguage, type Language } from "@/shared/i18n";
import { setSingles, useActions } from "@/shared/keys/actions";
import { setTheme, THEMES, useTheme, type ThemeWish } from "@/shared/theme/store";
import { Segments } from "@/shared/ui/Segments";
import { setChime, useChime } from "@/shell/chatPort";
import { keepPrefs } from "@/shell/TopBar";

/** The sound of a finished run; refused notices leave it off and say so. */
function Chime() {
  const { t } = useTranslation("settings");
  const on = useChime((state) => state.on);
  const [refused, setRefused] = useState(false);
  return (
    <div className="setting">
      <div><label className="setting-name" htmlFor="chime">{t("chime")}</label><div className="setting-text">{t("chimeText")}</div>{refused && <div className="setting-text err" role="alert">{t("chimeRefused")}</div>}</div>
      <div className="setting-control"><Switch id="chime" checked={on} label={t(on ? "on" : "off")} onChange={(event) => void setChime(event.currentTarget.checked).then((done) => setRefused(!done))} /></div>
    </div>
  );
}

/** Theme and language of this person; they take effect at once and follow to every browser. */
export function LooksSection() {
  const { t } = useTranslation(["settings", "common"]);
  const wish = useTheme((state) => state.wish);
  const singles = useActions((state) => state.singles);
  return (
    <div className="card">
      <div className="setting">
        <div><div className="setting-name">{t("theme")}</div><div className="setting-text">{t("themeText")}</div></div>
        <div className="setting-control"><Segments<ThemeWish> label={t("theme")} value={wish} onChange={(value) => { setTheme(value); keepPrefs({ theme: value }); }}
          options={[...THEMES, "system" as const].map((value) => ({ value, label: t(`common:theme.${value}`) }))} /></div>
      </div>
      <div className="setting">
        <div><div className="setting-name">{t("language")}</div><div className="setting-text">{t("languageText")}</div></div>
        <div className="setting-control"><Segments<Language> label={t("language")} value={currentLanguage()} onChange={(value) => { void setLanguage(value); keepPrefs({ language: value }); }}
          options={LANGUAGES.map((value) => ({ value, label: t(`common:language.${value}`) }))} /></div>
      </div>
      <div className="setting">
        <div><label className="setting-name" htmlFor="single-keys">{t("singleKeys")}</label><div className="setting-text">{t("singleKeysText")}</div></div>
        <div className="setting-control"><Switch id="single-keys" checked={singles} label={t(singles ? "on" : "off")} onChange={(event) => setSingles(event.currentTarget.checked)} /></div>
      </div>
      <Chime />
    </div>
  );
}
