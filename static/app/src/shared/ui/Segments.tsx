import type { KeyboardEvent } from "react";

interface Props<T extends string> {
  label: string;
  value: T | "";
  options: readonly { value: T; label: string; disabled?: boolean }[];
  onChange: (value: T) => void;
  disabled?: boolean;
}

/** A choice of few, one row: arrows move and choose, as a radio group does. */
export function Segments<T extends string>({ label, value, options, onChange, disabled = false }: Props<T>) {
  const onKey = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = event.key === "ArrowRight" || event.key === "ArrowDown" ? 1 : event.key === "ArrowLeft" || event.key === "ArrowUp" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const usable = options.filter((option) => !option.disabled);
    const at = usable.findIndex((option) => option.value === value);
    const next = usable[(at + step + usable.length) % usable.length];
    if (!next) return;
    onChange(next.value);
    event.currentTarget.querySelector<HTMLButtonElement>(`[data-value="${CSS.escape(next.value)}"]`)?.focus();
  };
  const chosen = options.some((option) => option.value === value);
  return (
    <div className="segments" role="radiogroup" aria-label={label} onKeyDown={onKey}>
      {options.map((option, index) => (
        <button
          key={option.value} type="button" role="radio" data-value={option.value} aria-checked={option.value === value}
          tabIndex={option.value === value || (!chosen && index === 0) ? 0 : -1} disabled={disabled || option.disabled} onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
