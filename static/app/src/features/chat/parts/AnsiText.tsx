import { memo, useMemo } from "react";
import { pieces } from "../ansi";

/** Text of a terminal in our own colours. */
export const AnsiText = memo(function AnsiText({ text }: { text: string }) {
  const parts = useMemo(() => pieces(text), [text]);
  return <>{parts.map((part, place) => (part.ink || part.bold ? <span key={place} className={`${part.ink ? `ink-${part.ink}` : ""}${part.bold ? " ink-bold" : ""}`}>{part.text}</span> : part.text))}</>;
});
