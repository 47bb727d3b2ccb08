import { memo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { CopyButton } from "../parts/CopyButton";
import { useRuns, type Run } from "./highlight";

/** hljs classes -> the five colours of the design; the rest stays plain. */
const COLOURS: Record<string, string> = {
  keyword: "k", literal: "k", built_in: "f", type: "f", "meta keyword": "k", operator: "p", tag: "k", name: "k",
  "selector-tag": "k", string: "s", regexp: "s", subst: "p", symbol: "s", char: "s", template_variable: "s",
  title: "f", section: "f", function: "f", class: "f", attr: "f", attribute: "f", property: "f", variable: "p",
  number: "n", bullet: "n", link: "n", comment: "c", quote: "c", doctag: "c", meta: "c", addition: "s", deletion: "n",
};

function coloured(code: string, runs: readonly Run[]): ReactNode[] {
  const out: ReactNode[] = [];
  let at = 0;
  runs.forEach(([length, name], place) => {
    const piece = code.slice(at, at + length);
    at += length;
    const colour = COLOURS[name];
    out.push(colour ? <span key={place} className={`hl-${colour}`}>{piece}</span> : piece);
  });
  if (at < code.length) out.push(code.slice(at));
  return out;
}

/** Code alone, coloured: for cards that bring their own frame. */
export function Code({ language, code, open = false }: { language: string; code: string; open?: boolean }) {
  const runs = useRuns(language, code, open);
  return <code>{runs && runs.length > 0 ? coloured(code, runs) : code}</code>;
}

interface Props {
  language: string;
  code: string;
  open?: boolean; // the fence is not closed yet
}

export const CodeBlock = memo(function CodeBlock({ language, code, open = false }: Props) {
  const { t } = useTranslation("chat");
  return (
    <div className="md-code">
      <div className="md-code-head">
        <span>{language || t("code.plain")}</span>
        <span className="grow" />
        <CopyButton text={code} label={t("code.copy")} />
      </div>
      <pre tabIndex={0}><Code language={language} code={code} open={open} /></pre>
    </div>
  );
});
