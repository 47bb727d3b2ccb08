/**
 * After `vite build`: compress what is worth it next to the original (the server sends the .br or .gz as it is)
 * and hold the first load to its budget. Exits 1 over budget, naming the chunks.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const dist = join(dirname(fileURLToPath(import.meta.url)), "../../dist");
const BUDGET = 350 * 1024; // gzip bytes of script until the chat of one language is on the screen

function* files(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

for (const path of files(dist)) {
  if (!/\.(js|mjs|css|svg|json)$/.test(path)) continue;
  const bytes = readFileSync(path);
  if (bytes.length < 1024) continue;
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }));
}

const manifest = JSON.parse(readFileSync(join(dist, ".vite/manifest.json"), "utf8"));
/** What a first visit runs: the entries, what they import, one language, the workbench and the chat. */
const START = ["src/head.ts", "src/main.tsx", "src/shared/i18n/en.ts", "src/shell/Workbench.tsx", "src/features/chat/index.ts"];
const seen = new Map();
const visit = (key) => {
  const chunk = manifest[key];
  if (!chunk || seen.has(chunk.file)) return;
  seen.set(chunk.file, gzipSync(readFileSync(join(dist, chunk.file)), { level: 9 }).length);
  for (const next of chunk.imports ?? []) visit(next);
};
START.forEach(visit);
const total = [...seen.values()].reduce((sum, size) => sum + size, 0);
const list = [...seen].map(([file, size]) => `  ${(size / 1024).toFixed(1).padStart(7)} KB  ${file}`).join("\n");
console.log(`First load: ${(total / 1024).toFixed(1)} KB gzip of script (budget ${BUDGET / 1024} KB)\n${list}`);
if (total > BUDGET) process.exit(1);
