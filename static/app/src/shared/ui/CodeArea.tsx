/** A plain text field for files: line numbers, a marked line, Ctrl+S. Tab leaves it, as everywhere. */
import { useEffect, useRef, type KeyboardEvent } from "react";
import "./code-area.css";

interface Props {
  label: string;
  value: string;
  onChange?: (text: string) => void;
  onSave?: () => void;
  readOnly?: boolean;
  /** Line from 1 to mark and to bring into view; 0 = none. */
  badLine?: number;
  /** Id of what explains the marked line. */
  describedBy?: string;
  wrap?: boolean;
}

export function CodeArea({ label, value, onChange, onSave, readOnly = false, badLine = 0, describedBy, wrap = false }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const lines = value.split("\n").length;

  // The marked line comes into view and the caret stands on it: what is to be mended is one key away.
  useEffect(() => {
    const element = field.current;
    if (!element || badLine < 1) return;
    const start = element.value.split("\n").slice(0, badLine - 1).reduce((sum, line) => sum + line.length + 1, 0);
    element.focus();
    element.setSelectionRange(start, start);
    element.scrollTop = Math.max(0, (badLine - 4) * LINE);
  }, [badLine]);

  const onKey = (event: KeyboardEvent) => {
    if (event.code !== "KeyS" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    onSave?.();
  };
  return (
    <div className={wrap ? "code-area wraps" : "code-area"}>
      {!wrap && (
        <div className="code-gutter num" ref={gutter} aria-hidden="true">
          {Array.from({ length: lines }, (_, index) => <div key={index} className={index + 1 === badLine ? "bad" : undefined}>{index + 1}</div>)}
        </div>
      )}
      <textarea ref={field} aria-label={label} aria-describedby={describedBy} aria-invalid={badLine > 0} spellCheck={false} autoCapitalize="off" wrap={wrap ? "soft" : "off"} value={value} readOnly={readOnly}
        onChange={(event) => onChange?.(event.target.value)} onKeyDown={onKey} onScroll={(event) => { if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop; }} />
    </div>
  );
}

const LINE = 20; // px, as in code-area.css
