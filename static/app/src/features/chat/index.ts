/** What the rest of the app may use of the chat. */
export { ChatPanel } from "./ChatPanel";
export { ExportItems } from "./parts/ExportItems";
export { setChime, useChime } from "./chime";
export {
  activate, chooseAgent, closeTab, focusComposer, openDraft, openEntry, openSession, openSessionIn, refreshAgents, titleOf, useActiveSession, useChat, useRunningSessions, useUnseenSessions,
} from "./store";
