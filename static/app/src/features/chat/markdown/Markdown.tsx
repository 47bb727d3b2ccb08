/**
 * Markdown of messages. Raw HTML is text; links lead to http, https and mailto only; a picture of another host is a
 * chip that says which host it would ask, and asks only on a click.
 */
import { memo, useMemo, useState, type ReactElement, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";
import remarkGfm from "remark-gfm";

import { Icon } from "@/shared/ui/Icon";
import { MediaChips } from "../parts/MediaChips";
import { splitBlocks, type Block } from "./blocks";
import { CodeBlock } from "./CodeBlock";
import { hostOf, safeHref } from "./links";

function Link({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  const safe = href ? safeHref(href) : null;
  if (safe === null) return <span className="md-dead-link">{children}</span>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={hostOf(safe)}>
      {children}
    </a>
  );
}

function Picture({ src, alt }: { src?: string | undefined; alt?: string | undefined }) {
  const { t } = useTranslation("chat");
  const [shown, setShown] = useState(false);
  const safe = src ? safeHref(src) : null;
  const name = alt || t("image.unnamed");
  if (safe === null || safe.startsWith("mailto:")) {
    return <span className="chip"><Icon name="image" size={12} />{name}</span>;
  }
  if (shown) {
    return <img className="md-image" src={safe} alt={name} referrerPolicy="no-referrer" loading="lazy" decoding="async" />;
  }
  return (
    <button type="button" className="chip md-image-chip" onClick={() => setShown(true)} title={safe}>
      <Icon name="image" size={12} />
      <span className="clip">{name}</span>
      <span className="t3">{t("image.load")} {hostOf(safe)}</span>
    </button>
  );
}

type CodeProps = React.ComponentProps<"code"> & ExtraProps;

const textOf = (children: ReactNode): string =>
  Array.isArray(children) ? children.map(textOf).join("") : typeof children === "string" ? children : "";

const components: Components = {
  a: ({ href, children }) => <Link href={href}>{children}</Link>,
  img: ({ src, alt }) => <Picture src={typeof src === "string" ? src : undefined} alt={alt} />,
  // The block brings its own frame; `pre` only hands it through.
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children, node }: CodeProps) => {
    const code = textOf(children);
    const language = /language-([^\s]+)/.exec(className ?? "")?.[1];
    const block = language !== undefined || code.endsWith("\n") || (node?.position && node.position.start.line !== node.position.end.line);
    return block ? <CodeBlock language={language ?? ""} code={code.replace(/\n$/, "")} /> : <code className="md-inline">{children}</code>;
  },
  table: ({ children }) => <div className="md-table" tabIndex={0}><table>{children}</table></div>,
  input: ({ checked }) => <input type="checkbox" checked={Boolean(checked)} readOnly disabled />,
};

const plugins = [remarkGfm];
// Every address is judged where it is used; this hook of the library would drop them silently.
const keep = (address: string): string => address;

/** Parsed blocks by their text: a row that scrolls away and back is not parsed again. Oldest go first. */
const parsed = new Map<string, ReactElement>();
const MOST_PARSED = 600;

/** `settled`: the text will not grow, so the result is worth keeping. The parser is a plain function without hooks. */
function parse(text: string, settled: boolean): ReactElement {
  const known = parsed.get(text);
  if (known) return known;
  const made = ReactMarkdown({ remarkPlugins: plugins, components, urlTransform: keep, children: text });
  if (settled) {
    parsed.set(text, made);
    if (parsed.size > MOST_PARSED) parsed.delete(parsed.keys().next().value!);
  }
  return made;
}

const TextBlock = memo(function TextBlock({ text, settled }: { text: string; settled: boolean }) {
  return parse(text, settled);
});

interface BlockProps {
  block: Block;
  settled: boolean;
}

const BlockView = memo(function BlockView({ block, settled }: BlockProps) {
  switch (block.kind) {
    case "fence":
      return <CodeBlock language={block.language} code={block.code} open={block.open} />;
    case "media":
      return <MediaChips media={block.media} settled={settled} />;
    case "text":
      return <TextBlock text={block.text} settled={settled} />;
  }
}, same);

function same({ block: a, settled: before }: BlockProps, { block: b, settled: now }: BlockProps): boolean {
  if (a.kind === "fence") return b.kind === "fence" && a.code === b.code && a.open === b.open && a.language === b.language;
  if (a.kind === "media") return b.kind === "media" && before === now && JSON.stringify(a.media) === JSON.stringify(b.media);
  return b.kind === "text" && a.text === b.text;
}

/** `caret`: more is coming; the block caret stands behind the last word. */
export const Markdown = memo(function Markdown({ text, caret = false }: { text: string; caret?: boolean }) {
  const blocks = useMemo(() => splitBlocks(text), [text]);
  return (
    <div className={caret ? "md md-caret" : "md"}>
      {blocks.map((block, place) => <BlockView key={place} block={block} settled={!caret || place < blocks.length - 1} />)}
    </div>
  );
});
