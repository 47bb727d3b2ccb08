import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "目标",
  status: { intake: "正在商定目标", running: "目标进行中", paused: "目标已暂停", halted: "目标已中止", done: "目标已达成" },
  round: "第 {{round}} 轮，共 {{max}} 轮",
  open: "打开目标会话",
  worker: "执行者",
  openWorker: "打开为目标工作的会话",
  dismiss: "收起",
  composer: "此会话由目标主导。命令仍可用：/goal pause 可解除。",
  composerShort: "由目标主导，可用 / 命令",
  locked: "此会话由目标主导：请到目标会话中发言，或用 /goal pause 解除。",
};
export default zh;
