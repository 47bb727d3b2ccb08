/** A page of two parts: what there is at the side, the chosen one in the middle; on a phone one at a time. */
import { useLayoutEffect, useRef, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Icon } from "./Icon";
import "./pane.css";

interface Props {
  title: string;
  /** Buttons beside the title of the list. */
  tools?: ReactNode;
  find: { label: string; value: string; onChange: (text: string) => void };
  list: ReactNode;
  /** Accessible name of the middle. */
  label: string;
  /** Phone: the middle is shown instead of the list. */
  chosen: boolean;
  onBack: () => void;
  children: ReactNode;
}

export function Pane({ title, tools, find, list, label, chosen, onBack, children }: Props) {
  const { t } = useTranslation("common");
  const rows = useRoving();
  return (
    <div className={chosen ? "pane chosen" : "pane"}>
      <aside className="pane-side" aria-label={title}>
        <div className="side-head">{title}<span className="grow" />{tools}</div>
        <div className="pane-find"><div className="field"><Icon name="search" size={14} /><input type="search" aria-label={find.label} placeholder={find.label} value={find.value} onChange={(event) => find.onChange(event.target.value)} /></div></div>
        <nav className="pane-list" {...rows}>{list}</nav>
      </aside>
      <section className="pane-main" aria-label={label}>
        <button className="btn ghost small pane-back" onClick={onBack}><Icon name="left" size={14} />{t("act.back")}</button>
        {children}
      </section>
    </div>
  );
}

/** One stop for Tab, the open row or else the first; arrows, J and K, Home and End go on from there. */
function useRoving() {
  const ref = useRef<HTMLElement>(null);
  const buttons = () => [...(ref.current?.querySelectorAll<HTMLButtonElement>("button") ?? [])];
  useLayoutEffect(() => {
    const all = buttons();
    const stop = all.find((button) => button.hasAttribute("aria-current")) ?? all[0];
    for (const button of all) button.tabIndex = button === stop ? 0 : -1;
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const all = buttons();
    const at = all.indexOf(document.activeElement as HTMLButtonElement);
    const last = all.length - 1;
    const to = { ArrowDown: Math.min(last, at + 1), j: Math.min(last, at + 1), ArrowUp: Math.max(0, at - 1), k: Math.max(0, at - 1), Home: 0, End: last }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    all[to]?.focus();
  };
  return { ref, onKeyDown };
}

interface RowProps {
  title: string;
  text: string;
  current: boolean;
  dimmed?: boolean;
  ring: ReactNode;
  chips?: ReactNode;
  onPick: () => void;
}

/** One line of the list: ring, name and chips, a second line that says more. */
export function PaneRow({ title, text, current, dimmed = false, ring, chips, onPick }: RowProps) {
  return (
    <button className={dimmed ? "pane-row dimmed" : "pane-row"} aria-current={current ? "page" : undefined} onClick={onPick}>
      {ring}
      <span className="grow">
        <span className="row pane-row-top"><span className="clip pane-row-title">{title}</span>{chips}</span>
        <span className="pane-row-text clip">{text}</span>
      </span>
    </button>
  );
}

/** A fact of the middle: its name at the left, what it is at the right. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="fact">
      <div className="fact-name">{name}</div>
      <div className="fact-value">{children}</div>
    </div>
  );
}
