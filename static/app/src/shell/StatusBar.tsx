import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { currentLanguage, setLanguage } from "@/shared/i18n";
import { Ring } from "@/shared/ui/Ring";
import { useLinkStatus } from "@/socket";
import { linkWords } from "./linkWords";
import { keepPrefs } from "./TopBar";

export function StatusBar({ workspace, demo }: { workspace: Workspace; demo: boolean }) {
  const { t } = useTranslation(["shell", "common", "workspace"]);
  const words = linkWords(useLinkStatus());
  const language = currentLanguage();
  const other = language === "zh-CN" ? "en-US" : "zh-CN";
  const level = workspace.level && workspace.level !== "full" ? t(`workspace:level.${workspace.level}`) : "";
  return (
    <footer className="status" aria-label={t("status")} data-region>
      <span className={words.word === "live" ? "ok" : undefined}><Ring state={words.ring} labelled={false} />{t(`link.${words.word}`)}</span>
      {level && <span>{level}</span>}
      <span className="grow" />
      {demo && <span>{t("demo")}</span>}
      <button className="status-btn" aria-label={t("switchLanguage", { language: t(`common:language.${language}`) })} onClick={() => { void setLanguage(other); keepPrefs({ language: other }); }}>
        {t(`common:language.${language}`)}
      </button>
    </footer>
  );
}
