"""Full-text search over the messages of sessions: an index kept by triggers, and one way to ask it."""
