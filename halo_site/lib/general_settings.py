"""The general settings, each with its default, its limits and its words."""

from collections.abc import Sequence
from typing import Any

from .settings_schema import Field, Section

HIDDEN_DIRS = (
    "~/.halo/secrets,~/.aws,~/.ssh,~/.gnupg,~/.docker,~/.config/gh,~/.halo/global/internal-sessions,~/.halo/global/logs"
)
HIDDEN_FILES = "~/.npmrc,~/.bash_history,~/.gitconfig,~/.git-credentials,~/.netrc," + ",".join(
    f"~/.halo/global/{name}.db{suffix}" for name in ("evo", "cron", "runs") for suffix in ("", "-wal", "-shm")
)


def _int(key: str, default: int, en: str, zh: str, *, low: int = 0, high: int = 10**9, **more: Any) -> Field:
    return Field(
        key=key, type="int", default=str(default), low=low, high=high, description=en, description_zh=zh, **more
    )


def _limit(name: str, default: int, unit: str, en: str, zh: str) -> Field:
    return _int(f"limits.{name}", default, en, zh, low=1, unit=unit, global_only=True)


def _enum(key: str, options: Sequence[str], default: str, en: str, zh: str, **more: Any) -> Field:
    return Field(key=key, type="enum", options=options, default=default, description=en, description_zh=zh, **more)


GENERAL: tuple[Field, ...] = (
    _enum(
        "language",
        ("en-US", "zh-CN"),
        "en-US",
        "Language of the app for people who chose none",
        "未自行选择语言者的界面语言",
        global_only=True,
        option_labels=("English", "中文"),
    ),
    _enum(
        "theme",
        ("dark", "light", "midnight", "warm"),
        "dark",
        "Theme for people who chose none",
        "未自行选择主题者的主题",
        global_only=True,
    ),
    Field(
        key="agent.default_provider",
        description="Provider that new agents are bound to",
        description_zh="新建智能体默认使用的模型提供方",
    ),
    _int(
        "agent.max_retries",
        5,
        "Attempts of one model call before the turn fails",
        "一次模型调用失败前的尝试次数",
        low=1,
        high=20,
    ),
    Field(
        key="models.allow_scripted",
        type="boolean",
        default="false",
        global_only=True,
        description="Let agents use the scripted provider, which answers from a file (tests, demos)",
        description_zh="允许智能体使用按脚本文件作答的提供方（测试、演示）",
    ),
    Field(
        key="server.trust_proxy",
        type="boolean",
        default="false",
        global_only=True,
        description="Believe X-Forwarded-For and X-Forwarded-Proto; only behind a proxy that rewrites them",
        description_zh="信任 X-Forwarded-For 与 X-Forwarded-Proto；仅在会改写它们的代理之后启用",
    ),
    _int(
        "session.max_queue_size",
        256,
        "Messages from agents that may wait in one session",
        "单个会话中可排队的智能体消息数",
        low=1,
        high=100_000,
    ),
    _int(
        "session.max_nesting_depth",
        16,
        "How deep agents may start agents",
        "智能体逐级启动智能体的最大深度",
        low=1,
        high=64,
    ),
    _int(
        "session.stall_minutes",
        20,
        "A run that shows nothing for this long is ended; the queue goes on",
        "运行多久没有任何进展即被结束；队列随后继续",
        low=1,
        high=1440,
        unit="minutes",
    ),
    _int(
        "limits.repeated_calls",
        0,
        "End a run that makes the same tool call so often among its last 15; 0 = never (it is warned at the third)",
        "最近 15 次工具调用中相同调用达到此次数时结束运行；0 表示从不（第三次时会警告）",
        low=0,
        high=15,
        global_only=True,
    ),
    _enum(
        "sandbox.network",
        ("proxy", "none"),
        "proxy",
        "Network of sandboxed commands: filtered, or none",
        "沙箱命令的网络：经过滤的代理，或无网络",
        global_only=True,
    ),
    _int(
        "relay.max_hops",
        8,
        "How far a task may be handed on between workspaces",
        "任务在工作区之间转交的最大次数",
        low=1,
        high=64,
        global_only=True,
    ),
    Field(
        key="relay.max_chain_cost",
        type="float",
        low=0,
        high=1e9,
        global_only=True,
        description="Cost at which a chain of relayed tasks is stopped; empty = no limit",
        description_zh="一条转交链的费用上限；留空表示不限",
    ),
    Field(
        key="relay.allowed_workspaces",
        type="list",
        default="",
        global_only=True,
        description="Workspaces that may receive tasks; empty = all",
        description_zh="可接收任务的工作区；留空表示全部",
    ),
    Field(
        key="compact.compress_at",
        type="float",
        default="0.8",
        low=0.1,
        high=1,
        description="Share of the context at which older messages are summarised",
        description_zh="上下文用到多大比例时总结较早的消息",
    ),
    _int(
        "compact.keep_messages",
        5,
        "Newest messages that are never summarised",
        "从不总结的最新消息数",
        low=1,
        high=1000,
    ),
    _int(
        "compact.max_summary_input",
        15000,
        "Most text given to the summary",
        "提供给总结的最大文本量",
        low=1000,
        high=10**7,
        unit="chars",
    ),
    _int(
        "compact.max_message_slice",
        800,
        "Most text of one message in it",
        "其中单条消息的最大文本量",
        low=100,
        high=10**6,
        unit="chars",
    ),
    _int("compact.summarize_timeout_sec", 300, "Time for one summary", "一次总结的时限", low=5, high=3600, unit="s"),
    Field(
        key="sandbox.hidden_dirs",
        type="list",
        default=HIDDEN_DIRS,
        global_only=True,
        description="Folders that sandboxed sessions see empty",
        description_zh="沙箱会话看到为空的目录",
    ),
    Field(
        key="sandbox.hidden_files",
        type="list",
        default=HIDDEN_FILES,
        global_only=True,
        description="Files that sandboxed sessions see empty",
        description_zh="沙箱会话看到为空的文件",
    ),
    Field(
        key="sandbox.writable_dirs",
        type="list",
        default="",
        global_only=True,
        description="More folders that sandboxed sessions may write",
        description_zh="沙箱会话还可写入的目录",
    ),
    Field(
        key="outbound.allow",
        type="list",
        default="",
        global_only=True,
        description="Private addresses and ports that web_fetch and sandboxed commands may reach: 10.0.0.5:80, :8443",
        description_zh="web_fetch 与沙箱命令可访问的内网地址和端口，例如 10.0.0.5:80、:8443",
    ),
    _enum(
        "logging.level",
        ("debug", "info", "warn", "error"),
        "warn",
        "What goes into the server log",
        "写入服务器日志的级别",
        restart=True,
    ),
    _enum(
        "extensions.isolation",
        ("auto", "strict", "compat"),
        "auto",
        "Frames of preview extensions: caged, with a way out for a viewer that needs it; always caged; not caged",
        "预览扩展的框架：隔离（必要时可对单个查看器放宽）；始终隔离；不隔离",
        global_only=True,
    ),
    _enum(
        "evolution.level", ("L0", "L1"), "L0", "How far self-improvement may go", "自我进化的权限级别", global_only=True
    ),
    _int(
        "evolution.max_concurrent_run",
        1,
        "Drafts at the same time",
        "同时进行的草拟数",
        low=1,
        high=16,
        global_only=True,
    ),
    _int(
        "evolution.max_concurrent_apply",
        1,
        "Applies at the same time",
        "同时进行的应用数",
        low=1,
        high=16,
        global_only=True,
    ),
    _int(
        "evolution.run_timeout_minutes",
        12,
        "Time for one draft",
        "一次草拟的时限",
        low=1,
        high=1440,
        unit="minutes",
        global_only=True,
    ),
    _int(
        "evolution.apply_timeout_minutes",
        5,
        "Time for one apply",
        "一次应用的时限",
        low=1,
        high=1440,
        unit="minutes",
        global_only=True,
    ),
    _int(
        "evolution.max_attempts",
        3,
        "Attempts before it counts as failed",
        "判为失败前的尝试次数",
        low=1,
        high=20,
        global_only=True,
    ),
    Field(
        key="evolution.triggers.pre_compact",
        type="boolean",
        default="true",
        global_only=True,
        description="Look for lessons before older messages are summarised",
        description_zh="在总结较早消息之前寻找可学习之处",
    ),
    _limit("shell_output_bytes", 5_242_880, "bytes", "Output kept of one command", "单条命令保留的输出"),
    _limit("web_fetch_bytes", 51_200, "bytes", "Most of one fetched page", "单个网页的最大读取量"),
    _limit("grep_default_matches", 50, "lines", "Matches grep shows when it is not told", "grep 默认显示的匹配数"),
    _limit("tool_result_render_chars", 8_000, "chars", "Tool result as given to the model", "提供给模型的工具结果长度"),
    _limit("tool_result_ui_chars", 65_536, "chars", "Tool result as stored and shown", "保存并显示的工具结果长度"),
    _limit("auto_report_chars", 8_192, "chars", "Report of a sub-agent", "子智能体报告的长度"),
    _limit(
        "terminal_scrollback_bytes", 50_000, "bytes", "Terminal output kept for a reconnect", "终端重连时保留的输出"
    ),
)

GENERAL_BY_KEY = {part.key: part for part in GENERAL}
GENERAL_SECTION = Section(id="general", group="general", title="General", title_zh="通用", fields=GENERAL)
