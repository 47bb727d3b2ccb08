/** Chinese: the same namespaces and keys as en.ts (the type says so). */
import type { Same } from ".";
import type en from "./en";
import common from "./common.zh";
import agents from "@/features/agents/i18n/zh";
import chat from "@/features/chat/i18n/zh";
import firstrun from "@/features/firstrun/i18n/zh";
import goal from "@/features/goal/i18n/zh";
import login from "@/features/login/i18n/zh";
import palette from "@/features/palette/i18n/zh";
import relay from "@/features/relay/i18n/zh";
import search from "@/features/search/i18n/zh";
import sessions from "@/features/sessions/i18n/zh";
import settings from "@/features/settings/i18n/zh";
import skills from "@/features/skills/i18n/zh";
import workspace from "@/features/workspace/i18n/zh";
import shell from "@/shell/i18n/zh";

const zh: Same<typeof en> = { common, agents, chat, firstrun, goal, login, palette, relay, search, sessions, settings, shell, skills, workspace };
export default zh;
