import type { Same } from ".";
import type en from "./common.en";

const zh: Same<typeof en> = {
  ring: { idle: "空闲", run: "运行中", wait: "等待中", new: "未读", ok: "正常", warn: "需要处理", err: "失败", off: "已停用" },
  act: {
    cancel: "取消", close: "关闭", save: "保存", retry: "重试", undo: "撤销", remove: "移除", rename: "重命名",
    delete: "删除", open: "打开", back: "返回", more: "更多", search: "搜索", hide: "隐藏", show: "显示",
    copyDetails: "复制详情",
  },
  state: {
    loading: "加载中", stillLoading: "仍在加载", notBuilt: "此版本暂未提供", unknown: "未知",
    offline: "服务器没有响应。请确认它正在运行，然后重试。", failed: "操作未成功",
  },
  language: { "en-US": "English", "zh-CN": "中文" },
  theme: { dark: "深色", light: "浅色", midnight: "午夜", warm: "暖色", system: "跟随系统" },
  time: { now: "刚刚", minutes: "{{n}} 分钟前", hours: "{{n}} 小时前", yesterday: "昨天", today: "今天 {{time}}" },
};
export default zh;
