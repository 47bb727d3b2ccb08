import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  demoTitle: "这是演示智能体。",
  demoText: "按脚本运行，不需要密钥，也不联网。下方的文件读取是真实的。",
  connect: "连接模型",
  title: "开始使用",
  progress: "{{done}} / {{all}}",
  hide: "隐藏",
  keys: "键盘导览",
  done: "已完成",
  step: { folder: "打开一个文件夹", ask: "向演示智能体提问", askAny: "向智能体提问", model: "连接模型", file: "让它修改一个文件", keyboard: "用键盘操作" },
  hint: {
    folder: "",
    ask: "可以先问“这个文件夹里有什么？”",
    model: "密钥，或你自己机器上的模型服务器地址。",
    file: "请它写一个小文件。每次修改都会显示在对话中。",
    keyboard: "Ctrl K 查找一切，? 列出全部快捷键。",
  },
};
export default zh;
