// Read-only viewer: ready, init, load, theme, error. The library and its decoders lie beside this file (vendor/).
import { ModelViewerElement } from "./vendor/model-viewer.min.js";

const vendor = (path) => new URL(`vendor/${path}`, import.meta.url).href;
ModelViewerElement.dracoDecoderLocation = vendor("draco/");
ModelViewerElement.ktx2TranscoderLocation = vendor("basis/");

const model = document.getElementById("model");
const say = (type, fields = {}) => parent.postMessage({ haloExt: 1, type, ...fields }, "*");
let shown = "";

const hears = {
  init({ file, theme }) {
    document.title = file.name;
    model.alt = file.name;
    hears.theme({ theme });
  },
  load({ buffer }) {
    if (shown) URL.revokeObjectURL(shown);
    shown = URL.createObjectURL(new Blob([buffer], { type: "model/gltf-binary" }));
    model.src = shown;
  },
  theme({ theme }) {
    document.documentElement.classList.toggle("dark", theme === "dark");
  },
};

addEventListener("message", ({ data, source }) => {
  if (source === parent && data?.haloExt === 1 && Object.hasOwn(hears, data.type)) hears[data.type](data);
});
model.addEventListener("error", ({ detail }) => {
  say("error", { message: `This model cannot be shown: ${detail?.sourceError?.message ?? detail?.type ?? "unknown reason"}` });
});
model.addEventListener("load", () => document.documentElement.setAttribute("data-shown", ""));
say("ready", { protocol: 1 });
