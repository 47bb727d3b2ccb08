import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "智能体",
  find: "查找智能体",
  none: "没有匹配的智能体。",
  failed: "无法加载智能体。",
  group: { workspace: "此工作区", global: "全局", internal: "内部" },
  scope: { workspace: "工作区", global: "全局" },
  chip: { broken: "损坏", overridden: "被覆盖", disabled: "已停用", internal: "内部", builtIn: "内置" },
  noDescription: "没有描述。",
  tab: { overview: "概览", yaml: "agent.yaml", texts: "AGENT.md", prompt: "模型收到的内容" },
  act: { start: "新会话", enable: "在此启用", disable: "在此停用", takeOver: "复制到工作区", mend: "打开文件", mendLine: "转到第 {{line}} 行", showOther: "查看" },
  broken: "{{file}} 已损坏",
  overriddenText: "被覆盖：此工作区有同一 ID 的智能体，这里使用的是它。",
  overridesText: "在此代替同一 ID 的全局智能体。",
  ownerOnly: "只有此服务器的所有者可以修改全局智能体。复制到工作区后可在此修改。",
  fullOnly: "修改智能体需要此工作区的完全访问权限。",
  fact: { model: "模型", tools: "工具", skills: "技能", team: "团队", mcp: "MCP 服务器", priority: "优先级", folder: "文件夹" },
  empty: { tools: "没有工具：只能对话。", skills: "没有技能。", team: "没有团队：独自工作。", mcp: "没有。在 agent.yaml 的 mcp 下列出。" },
  mcp: {
    none: "未启动：尚无运行需要它", starting: "正在启动", ready: "就绪", failed: "失败", ended: "未运行", again: "重新查看", needs: "仅用于权限为以下的会话：{{level}}", tools_one: "{{count}} 个工具", tools_other: "{{count}} 个工具",
  },
  hint: {
    tools: "它可以调用的工具。会话工具不在此列：由团队授予。",
    skills: "任务需要时由智能体加载。",
    team: "它可以启动并分派工作的智能体。包含自己的 ID 时可以启动自己。",
    priority: "优先级最高的智能体用于新会话。",
  },
  you: "（自己）",
  unknown: "agent.yaml 中写有此项，但这里不存在，会被忽略。",
  noModel: "没有指定模型：智能体无法运行。",
  openMember: "团队：",
  saved: "已保存",
  notSaved: "未保存。",
  discard: "放弃更改",
  text: { agent: "这个智能体是谁。原样交给模型。", instructions: "此范围内所有智能体的规则。", index: "此文件夹的内容索引，由智能体维护，此处只读。", missing: "尚不存在，保存时创建。" },
  prompt: {
    level: "会话权限", child: "作为子智能体", text: "系统提示词", madeOf: "组成", sources: "文件（按顺序）", noSources: "没有你的文件参与其中。", size: "{{n}} 个字符",
    disabled: "已在此停用：没有会话可以使用此智能体。", overridden: "在此被覆盖：会话使用此工作区的智能体。",
  },
  new: {
    title: "新建智能体", name: "名称", nameHint: "人和其他智能体对它的称呼。", badName: "名称需要包含字母或数字。", taken: "已有智能体 {{id}}。", id: "ID 将是 {{id}}。",
    hides: "有同一 ID 的全局智能体：在此将使用新的这个。", hidden: "此工作区有同一 ID 的智能体：在此使用的是那一个。",
    about: "用途", aboutHint: "其他智能体据此选择向谁求助", scope: "位置", scopeHere: "存放在此文件夹的 .halo 中，随文件夹移动。", scopeShared: "用于此服务器的所有工作区。",
    from: "基于", blank: "空白", button: "创建智能体",
  },
  delete: { title: "删除 {{name}}？", text: "文件夹及其中所有文件将被永久删除。此智能体的会话会保留，可以查看。", button: "删除智能体" },
};
export default zh;
