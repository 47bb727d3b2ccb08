import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "技能",
  find: "查找技能",
  none: "没有匹配的技能。",
  failed: "无法加载技能。",
  empty: "还没有技能",
  emptyText: "技能是一个带有 SKILL.md 的文件夹，教智能体如何在这里做事。",
  group: { workspace: "此工作区", global: "全局" },
  scope: { workspace: "工作区", global: "全局" },
  level: { full: "完全访问", workspace: "工作区", readonly: "只读" },
  chip: { broken: "无法加载", overridden: "被覆盖", disabled: "已停用", builtIn: "内置" },
  noDescription: "没有描述。",
  act: { enable: "在此启用", disable: "在此停用", showOther: "查看" },
  broken: "无法加载 {{file}}",
  overriddenText: "被覆盖：此工作区有同一 ID 的技能，这里使用它的整个文件夹。",
  overridesText: "在此代替同一 ID 的全局技能。",
  fact: { command: "命令", who: "由谁启动", access: "访问权限", agents: "拥有它的智能体", folder: "文件夹" },
  noCommand: "没有斜杠命令",
  who: { both: "人通过命令启动；任务需要时智能体自行启动。", agents: "任务需要时由智能体自行启动。", people: "仅由人通过命令启动。" },
  needs: { any: "任何权限的会话。", readonly: "任何权限的会话。", workspace: "可在工作区写入的会话，或完全访问的会话。", full: "仅限完全访问的会话。" },
  noAgents: "没有智能体列出它。可在“智能体”中打开。",
  values: "参数与密钥",
  noSharedValues: "此技能属于工作区，没有全局值。",
  new: {
    title: "新建技能", name: "名称", about: "用途，以及何时使用", aboutHint: "智能体根据这段文字判断", command: "斜杠命令", commandHint: "/notes，或留空",
    clash: "{{name}} 已使用此命令；先来者保留它。", scope: "位置", button: "创建技能",
  },
  text: { saved: "已保存，智能体从下一轮起读取。", notSaved: "未保存。", discard: "放弃修改", ofHalo: "此技能随 Halo 提供：请复制其文件夹再修改。", readOnly: "你可以查看，不能修改。" },
  delete: { title: "删除 {{name}}？", text: "文件夹及其中所有文件将被永久删除。", button: "删除技能" },
};
export default zh;
