import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useNeeds } from "@/features/sessions";
import { useRegister, type Action } from "@/shared/keys/actions";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { bannerOf } from "./state";
import { dismissGoal, useGoal } from "./store";
import "./goal.css";

/** How the goal of this workspace stands, above the composer; leads to its session and to its worker. */
export function GoalBanner({ active, onOpen }: { active: string; onOpen: (sessionId: string) => void }) {
  const { t } = useTranslation(["goal", "common"]);
  const goal = useGoal((state) => state.goal);
  const dismissed = useGoal((state) => state.dismissed);
  const banner = bannerOf(goal, dismissed, active);
  const toGoal = banner?.toGoal ?? null;
  const toWorker = banner?.toWorker ?? null;
  const actions = useMemo<Action[]>(
    () => [
      ...(toGoal === null ? [] : [{ id: "goal.open", label: t("open"), group: t("title"), run: () => onOpen(toGoal) }]),
      ...(toWorker === null ? [] : [{ id: "goal.worker", label: t("openWorker"), group: t("title"), run: () => onOpen(toWorker) }]),
    ],
    [t, toGoal, toWorker, onOpen],
  );
  useRegister(actions);
  const workerParked = useNeeds().some((need) => need.kind === "parked" && need.sessionId === goal?.workerSessionId);
  useEffect(() => useGoal.setState({ workerParked }), [workerParked]);
  if (banner === null) return null;

  const words = (
    <>
      <Ring state={banner.ring} labelled={false} /><span aria-hidden="true">🎯</span>
      <span className="clip"><b>{t(`status.${banner.status}`)}</b>{banner.status !== "intake" && <span className="t2 num"> · {t("round", { round: banner.round, max: banner.maxRounds })}</span>}</span>
    </>
  );
  return (
    <section className="chat-bar goal-bar" aria-label={t("title")} aria-live="polite">
      {toGoal === null ? <span className="goal-words">{words}</span> : <button type="button" className="goal-words" title={t("open")} onClick={() => onOpen(toGoal)}>{words}</button>}
      {toWorker !== null && <button type="button" className="btn ghost small" title={t("openWorker")} onClick={() => onOpen(toWorker)}>{t("worker")}<Icon name="aright" size={12} /></button>}
      {banner.mayDismiss && <button type="button" className="icon-btn small" aria-label={t("dismiss")} title={t("dismiss")} onClick={dismissGoal}><Icon name="x" size={12} /></button>}
    </section>
  );
}
