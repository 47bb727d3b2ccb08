import type { Same } from "@/shared/i18n";
import type en from "./en";

const zh: Same<typeof en> = {
  title: "登录 Halo",
  version: "版本 {{version}}",
  username: "用户名",
  password: "密码",
  showPassword: "显示密码",
  hidePassword: "隐藏密码",
  submit: "登录",
  submitting: "正在登录",
  wrong: "用户名或密码不正确。",
  tooMany_one: "尝试次数过多，{{count}} 分钟后再试。",
  tooMany_other: "尝试次数过多，{{count}} 分钟后再试。",
  tooManyHours_one: "尝试次数过多，{{count}} 小时后再试。",
  tooManyHours_other: "尝试次数过多，{{count}} 小时后再试。",
  tooManyUnknown: "尝试次数过多，请稍后再试。",
  network: "连接失败。请确认服务器正在运行，然后重试。",
  failed: "服务器返回：{{error}}",
  firstStart: "首次启动？密码显示在你运行此命令的终端里：",
  language: "语言",
  theme: "主题",
  expiredTitle: "你已退出登录",
  expiredText: "重新登录即可继续，已输入的内容会保留。",
  otherUser: "当前登录为 {{username}}，此页面由 {{before}} 打开。重新加载即可继续。",
  reload: "重新加载",
};
export default zh;
