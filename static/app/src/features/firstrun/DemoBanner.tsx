import { useTranslation } from "react-i18next";
import { Icon } from "@/shared/ui/Icon";
import { showDialog } from "@/shell/store";
import "./firstrun.css";

/** Stays as long as the demo answers: it must never be taken for a model. */
export function DemoBanner() {
  const { t } = useTranslation("firstrun");
  return (
    <div className="demo-banner" role="note">
      <Icon name="info" /><span className="grow"><strong>{t("demoTitle")}</strong> <span className="t2">{t("demoText")}</span></span>
      <button className="btn primary small" onClick={() => showDialog("connect")}>{t("connect")}</button>
    </div>
  );
}
