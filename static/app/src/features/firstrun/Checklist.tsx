import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { Icon } from "@/shared/ui/Icon";
import { focusComposer } from "@/shell/chatPort";
import { showDialog } from "@/shell/store";
import { nextStep, STEPS, type Step } from "./steps";
import { setFlag, type FirstRun } from "./useFirstRun";
import "./firstrun.css";

/** Five steps that tick themselves; can be hidden for good. */
export function Checklist({ state }: { workspace: Workspace; state: FirstRun }) {
  const { t } = useTranslation("firstrun");
  const next = nextStep(state.done);
  const act = (step: Step) => {
    if (step === "model") showDialog("connect");
    else if (step === "keyboard") showKeys();
    else focusComposer();
  };
  return (
    <aside className="first-aside" aria-label={t("title")} data-region>
      <div className="card">
        <div className="first-head">{t("title")}<span className="grow" /><span className="t3 sm num">{t("progress", { done: state.done.length, all: STEPS.length })}</span></div>
        <ol>
          {STEPS.map((step, index) => {
            const done = state.done.includes(step);
            const hint = step === "folder" ? "" : t(`hint.${step}`);
            const label = t(`step.${step === "ask" && !state.demo ? "askAny" : step}`);
            return (
              <li key={step} className={step === next ? "first-step next" : "first-step"}>
                <span className={done ? "first-number done" : "first-number"}>{done ? <Icon name="check" size={12} /> : index + 1}</span>
                {done ? <span className="t3">{label}<span className="visually-hidden">, {t("done")}</span></span>
                  : <button className="first-act" onClick={() => act(step)}><span className="first-label">{label}</span>{hint && <span className={step === next ? "sm t2" : "sm t3"}>{hint}</span>}</button>}
              </li>
            );
          })}
        </ol>
      </div>
      <div className="row sm first-foot"><button className="link-btn" onClick={showKeys}>{t("keys")}</button><span className="grow" /><button className="link-btn t3" onClick={() => setFlag("hidden")}>{t("hide")}</button></div>
    </aside>
  );
}

function showKeys(): void {
  setFlag("keyboard");
  showDialog("keys");
}
