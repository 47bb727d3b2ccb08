import { Tooltip } from "@mantine/core";
import { Fragment } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { openSearch } from "./openSearch";
import { goTo, useShell, type Activity } from "./store";

const RAIL: readonly (readonly [Activity, IconName] | "line")[] = [
  ["explorer", "files"], ["search", "search"], ["git", "git"], ["sessions", "chat"], ["agents", "agent"], ["skills", "skill"], "line",
  ["cron", "clock"], ["evolution", "evo"], ["channels", "plane"],
];

export function Rail() {
  const { t } = useTranslation("shell");
  const activity = useShell((state) => state.activity);
  const button = (name: Activity, icon: IconName) => (
    <Tooltip label={t(`activity.${name}`)} position="right">
      <button className="rail-btn" aria-label={t(`activity.${name}`)} aria-current={activity === name || (name === "sessions" && activity === "relay") ? "page" : undefined} onClick={() => (name === "search" && activity !== name ? openSearch() : goTo(name))}><Icon name={icon} size={19} /></button>
    </Tooltip>
  );
  return (
    <nav className="rail" aria-label={t("activities")} data-region>
      {RAIL.map((item, index) => (item === "line" ? <hr key="line" /> : <Fragment key={index}>{button(item[0], item[1])}</Fragment>))}
      <span className="grow" />
      {button("settings", "gear")}
    </nav>
  );
}
