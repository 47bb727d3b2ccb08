import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "命令面板",
  placeholder: "搜索会话和命令",
  sessions: "会话",
  files: "文件",
  commands: "命令",
  all: "全部",
  nothing: "没有与“{{text}}”匹配的内容。",
  choose: "选择",
  open: "打开",
  shown: "{{shown}} / {{all}}",
  hint: "> 命令，# 会话",
};
export default zh;
