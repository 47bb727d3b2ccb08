"""Who acts: agent.yaml, prompts, model providers and the tools an agent may call."""
