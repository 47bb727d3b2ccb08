import { useTranslation } from "react-i18next";
import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { focusComposer } from "./chatPort";
import { useShell } from "./store";

export type Unbuilt = "explorer" | "search" | "git" | "agents" | "skills" | "cron" | "evolution" | "channels" | "editor" | "terminal" | "extensions";

const ICON_OF: Record<Unbuilt, IconName> = {
  explorer: "files", search: "search", git: "git", agents: "agent", skills: "skill", cron: "clock", evolution: "evo", channels: "plane", editor: "file", terminal: "term", extensions: "box",
};

/** Honest about what this version lacks: what it will be for, and what works instead. */
export function NotBuilt({ what, small = false }: { what: Unbuilt; small?: boolean }) {
  const { t } = useTranslation(["shell", "common"]);
  const ask = () => {
    useShell.setState((state) => ({ activity: "sessions", chatBeside: true, drawer: false, sidebar: state.sidebar }));
    focusComposer();
  };
  return (
    <div className={small ? "not-built small" : "not-built"}>
      <Icon name={ICON_OF[what]} size={small ? 18 : 24} />
      <strong>{t("common:state.notBuilt")}</strong>
      <p className="t2">{t(`about.${what}`)}</p>
      {!small && <p className="t3 sm">{t("meanwhile")}</p>}
      {!small && <button className="btn" onClick={ask}>{t("askAgent")}</button>}
    </div>
  );
}
