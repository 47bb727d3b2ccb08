"""The sentences of the demo agent in both languages."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    footer: str
    look_first: str
    then_read: str
    counted: str
    name: str
    kind: str
    folder: str
    folders: str
    file: str
    files: str
    more: str
    says: str
    says_nothing: str
    empty: str
    search_first: str
    todos: str
    no_todo: str
    look_before_write: str
    now_write: str
    note: str
    written: str
    may_not_write: str
    provoke: str
    explained: str
    failed: str
    no_tools: str
    other_thought: str
    other: str


EN = Words(
    footer=(
        "*This is the demo agent. It follows a script, needs no key and no network. "
        "The tools it called are real. Connect a model in Settings for real answers.*"
    ),
    look_first="I should look before I answer: list the top level, then open the file that explains it.",
    then_read="{file} is the most likely to say what this is. I will read its first lines.",
    counted="The top level of this folder holds **{folders}** and **{files}**.",
    name="Name",
    kind="Kind",
    folder="folder",
    folders="folders",
    file="file",
    files="files",
    more="And {count} more.",
    says="This is how `{file}` begins:\n\n{quote}",
    says_nothing="`{file}` has no text at its beginning.",
    empty="This folder is empty. Ask me to write something, and I will put a small file here.",
    search_first="TODO and FIXME comments: one search over all files will do.",
    todos="Lines with TODO or FIXME: **{count}**\n\n{lines}",
    no_todo="I searched all files for TODO and FIXME: there is none.",
    look_before_write="Before I write, I look which names are taken, so that I overwrite nothing.",
    now_write="The name {file} is free.",
    note=(
        "# Written by the demo agent\n\n"
        "You asked: {question}\n\n"
        "When I looked, this folder held {folders} and {files}.\n"
        "A connected model would have done the task; I only show how a file comes about.\n"
        "Delete `{name}` whenever you like.\n"
    ),
    written=(
        "I wrote `{file}`. It is a real file: open it in the explorer, edit it, or delete it. "
        "A connected model would now have done what you asked for; I can only show the way."
    ),
    may_not_write=(
        "I would write a small file now, but this session may not write files. Raise its access level to allow it."
    ),
    provoke="I read a file that is not there. That fails for certain and harms nothing.",
    explained=(
        "I tried to read `{file}`, which does not exist. The tool answered:\n\n{error}\n\n"
        "An error of a tool does not end the conversation: the agent sees it, as you do, and tries another way. "
        "An error of the model's vendor is shown in red below the answer and says what you can do."
    ),
    failed="That did not work. The tool answered:\n\n{error}",
    no_tools="This session gives me none of the tools I would need for that.",
    other_thought="No script of mine fits this question. Better to say so than to invent an answer.",
    other=(
        "I cannot answer that: I only know a few things by heart. Try one of these:\n\n"
        "- What is in this folder?\n- Find TODO comments\n- Write a small test file\n- Show me an error"
    ),
)

ZH = Words(
    footer="*这是演示智能体：按脚本运行，不需要密钥，也不联网。它调用的工具是真实的。在“设置”中连接模型，即可获得真正的回答。*",
    look_first="先看再答：列出顶层内容，再打开说明文件。",
    then_read="{file} 最可能说明这是什么，先读它的开头。",
    counted="这个文件夹的顶层有 **{folders}**和 **{files}**。",
    name="名称",
    kind="类型",
    folder="文件夹",
    folders="个文件夹",
    file="文件",
    files="个文件",
    more="另外还有 {count} 项。",
    says="`{file}` 的开头是这样的：\n\n{quote}",
    says_nothing="`{file}` 的开头没有文字。",
    empty="这个文件夹是空的。让我写点什么，我会在这里放一个小文件。",
    search_first="查找 TODO 和 FIXME 注释：对所有文件搜索一次就够了。",
    todos="找到 **{count}** 行 TODO 或 FIXME：\n\n{lines}",
    no_todo="我在所有文件中查找了 TODO 和 FIXME：一个也没有。",
    look_before_write="写之前先看看哪些名字已被占用，以免覆盖已有的文件。",
    now_write="{file} 这个名字没有被占用。",
    note=(
        "# 由演示智能体写入\n\n"
        "你的要求：{question}\n\n"
        "写入时，这个文件夹有 {folders}和 {files}。\n"
        "真正的模型会完成任务；我只演示文件是怎样产生的。\n"
        "可以随时删除 `{name}`。\n"
    ),
    written=(
        "我写好了 `{file}`。这是真实的文件：可以在资源管理器中打开、编辑或删除。"
        "真正的模型会完成你的任务；我只能演示过程。"
    ),
    may_not_write="我本想写一个小文件，但这个会话没有写入权限。提高它的访问级别后即可写入。",
    provoke="读取一个不存在的文件：一定会失败，但没有任何损害。",
    explained=(
        "我尝试读取不存在的 `{file}`。工具的回答是：\n\n{error}\n\n"
        "工具出错不会结束对话：智能体和你一样能看到错误，并会换一种方法。"
        "模型供应商出错时，回答下方会以红色显示，并说明可以怎样处理。"
    ),
    failed="没有成功。工具的回答是：\n\n{error}",
    no_tools="这个会话没有提供我需要的工具。",
    other_thought="没有适合这个问题的脚本。与其编造，不如直说。",
    other=(
        "这个我回答不了：我只会几件固定的事。可以试试：\n\n"
        "- 这个文件夹里有什么？\n- 查找 TODO 注释\n- 写一个小测试文件\n- 给我看一个错误"
    ),
)
