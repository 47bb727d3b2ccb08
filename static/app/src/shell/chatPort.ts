/** All the frame asks of the chat, in one place: the panel, and verbs that lead into it. */
export { ChatPanel, chooseAgent, ExportItems, focusComposer, setChime, useChime, openDraft, openEntry, openSession, openSessionIn, refreshAgents, useActiveSession, useRunningSessions } from "@/features/chat";
