/** English: one namespace per feature. Add a feature's dictionary here and in zh.ts. */
import common from "./common.en";
import agents from "@/features/agents/i18n/en";
import chat from "@/features/chat/i18n/en";
import firstrun from "@/features/firstrun/i18n/en";
import goal from "@/features/goal/i18n/en";
import login from "@/features/login/i18n/en";
import palette from "@/features/palette/i18n/en";
import relay from "@/features/relay/i18n/en";
import search from "@/features/search/i18n/en";
import sessions from "@/features/sessions/i18n/en";
import settings from "@/features/settings/i18n/en";
import skills from "@/features/skills/i18n/en";
import workspace from "@/features/workspace/i18n/en";
import shell from "@/shell/i18n/en";

export default { common, agents, chat, firstrun, goal, login, palette, relay, search, sessions, settings, shell, skills, workspace };
