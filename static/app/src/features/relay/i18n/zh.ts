import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "转交的任务",
  working: "运行中",
  pending: "等待中",
  interims_one: "{{count}} 份中期报告",
  interims_other: "{{count}} 份中期报告",
  sends_one: "{{count}} 条消息",
  sends_other: "{{count}} 条消息",
  hidden: "另一个工作区",
  asks: "{{caller}} 转交给 {{target}}",
  cancel: "取消：不再等待 {{target}}，正在运行的工作会继续。",
  open: "打开 {{name}}",
  span: { label: "显示哪些任务", open: "等待中", day: "24 小时", all: "30 天" },
  column: { caller: "委托方", target: "接收方", state: "状态", began: "开始", took: "用时", cancel: "取消" },
  state: {
    working: "运行中", pending: "等待中", completed: "已送达", aborted: "已中止", stopped: "被委托方停止", cancelled: "已取消", undelivered: "未送达",
  },
  picture: "任务图。方向键沿任务移动，回车打开会话。下方表格内容相同。",
  tooMany: "目标太多，无法成图，请看下方表格。",
  empty: "没有转交过任务",
  emptyHere: "这段时间没有任务",
  emptyText: "拥有 relay_send 的智能体可委托其他工作区的会话，并收到一份报告。",
  failed: "无法加载任务",
  older: "显示更早的任务",
};
export default zh;
