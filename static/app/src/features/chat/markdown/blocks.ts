/**
 * Cut Markdown into top-level blocks, so that settled ones are parsed once and only the last one again per frame.
 * A fence is a block of its own from its first line on, closed or not. Pure.
 *
 * So is a line that names a file (media.ts), with those that follow it.
 *
 * The cut is careful, not complete: what belongs together although blank lines stand between (lists, indented text)
 * stays together; link definitions are given to the blocks that use them.
 */

import { mediaOf, type Media } from "../media";
import { closesFence, opensFence } from "./fence";

export type Block =
  | { kind: "text"; text: string }
  | { kind: "fence"; language: string; code: string; open: boolean }
  | { kind: "media"; media: Media[] };

const LIST = /^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)/;
const DEFINITION = /^ {0,3}\[([^\]\n]+)\]:\s*\S/;

export function splitBlocks(source: string): Block[] {
  const lines = source.replace(/\r\n?/g, "\n").split("\n");
  const blocks: Block[] = [];
  let run: string[] = [];
  let list = false;

  const close = (): void => {
    while (run.length > 0 && run.at(-1)!.trim() === "") run.pop();
    if (run.length > 0) blocks.push({ kind: "text", text: run.join("\n") });
    run = [];
    list = false;
  };

  for (let place = 0; place < lines.length; place += 1) {
    const line = lines[place]!;
    const fence = opensFence(line);
    if (fence && !(list && run.length > 0 && fence.indent.length > 0)) {
      close();
      const { indent, mark, info } = fence;
      const code: string[] = [];
      let open = true;
      for (place += 1; place < lines.length; place += 1) {
        const inner = lines[place]!;
        if (closesFence(inner, mark)) {
          open = false;
          break;
        }
        code.push(indent ? inner.replace(new RegExp(`^ {0,${indent.length}}`), "") : inner);
      }
      blocks.push({ kind: "fence", language: info.trim().split(/[\s{]/, 1)[0] ?? "", code: code.join("\n"), open });
      continue;
    }
    const media = mediaOf(line);
    if (media) {
      close();
      const before = blocks.at(-1);
      if (before?.kind === "media") before.media.push(media);
      else blocks.push({ kind: "media", media: [media] });
      continue;
    }
    if (line.trim() === "") {
      if (run.length > 0) run.push(line);
      continue;
    }
    const afterGap = run.length > 0 && run.at(-1)!.trim() === "";
    if (afterGap && !/^[ \t]{2,}|^\t/.test(line) && !(list && LIST.test(line))) close();
    if (run.length === 0) list = LIST.test(line);
    run.push(line);
  }
  close();
  return withDefinitions(blocks);
}

/** Reference links are resolved per block: a block that names a definition gets its line. */
function withDefinitions(blocks: Block[]): Block[] {
  const found = new Map<string, string>();
  for (const block of blocks) {
    if (block.kind !== "text" || !block.text.includes("]:")) continue;
    for (const line of block.text.split("\n")) {
      const match = DEFINITION.exec(line);
      if (match) found.set(match[1]!.toLowerCase(), line);
    }
  }
  if (found.size === 0) return blocks;
  return blocks.map((block) => {
    if (block.kind !== "text" || !block.text.includes("[")) return block;
    const wanted = [...found].filter(
      ([label, line]) => block.text.toLowerCase().includes(`[${label}]`) && !block.text.split("\n").includes(line),
    );
    return wanted.length > 0 ? { kind: "text", text: `${block.text}\n\n${wanted.map(([, line]) => line).join("\n")}` } : block;
  });
}
