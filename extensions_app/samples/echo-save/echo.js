// The save protocol of preview extensions, version 1, whole: docs/extensions.md describes each frame.
const text = document.getElementById("text");
const state = document.getElementById("state");
let dirty = false;
let sent = ""; // what the last `save` held: edits made while it was on its way are still unsaved

const say = (type, fields = {}, transfer = []) =>
  parent.postMessage({ haloExt: 1, type, ...fields }, "*", transfer);

function setDirty(now) {
  if (dirty !== now) say("dirty", { dirty: now });
  dirty = now;
  state.textContent = now ? "Edited" : "Saved";
}

const hears = {
  init({ file, capabilities, theme }) {
    document.title = file.name;
    text.disabled = false;
    text.readOnly = !capabilities.includes("save");
    hears.theme({ theme });
  },
  load({ buffer }) {
    try {
      text.value = new TextDecoder("utf-8", { fatal: true }).decode(buffer);
    } catch {
      say("error", { message: "This file is not UTF-8 text." });
      return;
    }
    setDirty(false);
  },
  "save-request"() {
    sent = text.value;
    const { buffer } = new TextEncoder().encode(sent);
    say("save", { buffer }, [buffer]);
  },
  saved() {
    setDirty(text.value !== sent);
  },
  "save-error"({ message, reason }) {
    state.textContent = `Not saved: ${message ?? reason}`;
  },
  theme({ theme }) {
    document.documentElement.classList.toggle("dark", theme === "dark");
  },
};

addEventListener("message", ({ data, source }) => {
  if (source === parent && data?.haloExt === 1 && Object.hasOwn(hears, data.type)) hears[data.type](data);
});
text.addEventListener("input", () => setDirty(true));
say("ready", { protocol: 1 });
