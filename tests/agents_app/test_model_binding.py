"""Another model for an agent: what changes in its file, and what stays."""

from agents_app.agent_yaml import parse
from agents_app.model_binding import bind

TEXT = """\
name: Mine  # a remark
model:
  provider: openai
  id: gpt-4o
  endpoint: https://api.openai.com/v1
  promptCaching: 1h
  fallback:
    - {provider: deepseek, id: deepseek-v4-pro, endpoint: https://api.deepseek.com}
tools: [grep]
"""
BLOCK = {"provider": "kimi", "id": "kimi-k3", "endpoint": "https://api.moonshot.cn/v1"}


def test_the_settings_of_the_old_model_go_and_the_fallbacks_stay():
    bound = bind(TEXT, BLOCK)
    model = parse(bound)[0].model
    assert (model.provider, model.prompt_caching) == ("kimi", None)
    assert [named.provider for named in model.fallback] == ["deepseek"]
    assert bound.startswith("name: Mine  # a remark\n")
    assert bound.endswith("tools: [grep]\n")


def test_an_agent_without_a_model_gets_one():
    assert parse(bind("name: Mine\n", BLOCK))[0].model.id == "kimi-k3"
