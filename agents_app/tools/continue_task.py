"""Tool continue_task: after the answer to a message in between, the interrupted task goes on (spec sessions 8)."""

from .contract import Tool, ToolContext, ToolParams, ToolResult


class Params(ToolParams):
    """Resume the task you were working on before the message you just answered interrupted it. Write your answer to
    that message first, then call this: when your turn is over, you get another one for the task."""


async def run(params: Params, ctx: ToolContext) -> ToolResult:
    if ctx.resume():
        return ToolResult('{"code":0,"message":"You get another turn for the task when this one is over."}')
    return ToolResult('{"code":1,"error":"nothing to resume"}')


TOOL = Tool(name="continue_task", params=Params, run=run)
