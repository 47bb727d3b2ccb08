/** Colours code off the main thread. In: {id, language, code}; out: {id, runs}: [length, class] pairs over the code. */
import { common, createLowlight } from "lowlight";

interface Node {
  type: string;
  value?: string;
  properties?: { className?: string[] };
  children?: Node[];
}

const lowlight = createLowlight(common);

export type Run = [length: number, name: string];

function collect(node: Node, name: string, runs: Run[]): void {
  if (node.type === "text") {
    const length = node.value?.length ?? 0;
    const last = runs.at(-1);
    if (last && last[1] === name) last[0] += length;
    else if (length > 0) runs.push([length, name]);
    return;
  }
  const own = node.properties?.className?.[0]?.replace(/^hljs-/, "") ?? name;
  for (const child of node.children ?? []) collect(child, own, runs);
}

self.onmessage = (event: MessageEvent<{ id: number; language: string; code: string }>) => {
  const { id, language, code } = event.data;
  const runs: Run[] = [];
  if (lowlight.registered(language)) collect(lowlight.highlight(language, code) as Node, "", runs);
  self.postMessage({ id, runs });
};
