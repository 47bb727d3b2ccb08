export default {
  ring: {
    idle: "Idle", run: "At work", wait: "Waiting", new: "Unseen", ok: "Good", warn: "Needs you", err: "Failed", off: "Off",
  },
  act: {
    cancel: "Cancel", close: "Close", save: "Save", retry: "Retry", undo: "Undo", remove: "Remove", rename: "Rename",
    delete: "Delete", open: "Open", back: "Back", more: "More", search: "Search", hide: "Hide", show: "Show",
    copyDetails: "Copy details",
  },
  state: {
    loading: "Loading", stillLoading: "Still loading", notBuilt: "Not in this version yet", unknown: "Unknown",
    offline: "The server did not answer. Check that it runs, then retry.", failed: "This did not work",
  },
  language: { "en-US": "English", "zh-CN": "中文" },
  theme: { dark: "Dark", light: "Light", midnight: "Midnight", warm: "Warm", system: "System" },
  time: { now: "now", minutes: "{{n}} min ago", hours: "{{n}} h ago", yesterday: "yesterday", today: "today {{time}}" },
};
