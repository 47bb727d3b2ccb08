import type { KeyboardEvent } from "react";

interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
  /** Id of the element the tabs fill. */
  panel: string;
}

/** A tab list: arrows, Home and End move and choose. */
export function TabList<T extends string>({ label, value, options, onChange, panel }: Props<T>) {
  const onKey = (event: KeyboardEvent<HTMLDivElement>) => {
    const at = options.findIndex((option) => option.value === value);
    const last = options.length - 1;
    const next = event.key === "ArrowRight" ? (at === last ? 0 : at + 1) : event.key === "ArrowLeft" ? (at === 0 ? last : at - 1) : event.key === "Home" ? 0 : event.key === "End" ? last : null;
    const wanted = next === null ? undefined : options[next];
    if (!wanted) return;
    event.preventDefault();
    onChange(wanted.value);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${wanted.value}"]`)?.focus();
  };
  return (
    <div className="pane-tabs" role="tablist" aria-label={label} onKeyDown={onKey}>
      {options.map((option) => (
        <button key={option.value} role="tab" data-tab={option.value} aria-selected={option.value === value} aria-controls={panel} tabIndex={option.value === value ? 0 : -1} onClick={() => onChange(option.value)}>{option.label}</button>
      ))}
    </div>
  );
}
