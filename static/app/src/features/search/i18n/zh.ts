import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "搜索消息",
  field: "任意会话中的文字",
  where: "搜索范围",
  all: "所有文件夹",
  folder: "此文件夹",
  archived: "包括已归档",
  searching: "正在搜索",
  hint: "查找人和智能体说过的话。所有词都须在同一条消息中，词的一部分也算，带引号的词须连在一起。",
  none: "没有人说过“{{text}}”。",
  noneHint: "正在运行的内容在这一轮结束后才能找到。",
  failed: "搜索失败",
  more: "显示更早的",
  inMessages: "消息中",
  everything: "所有包含“{{text}}”的消息",
};
export default zh;
