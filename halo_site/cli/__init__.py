"""`manage.py cli`: one prompt in, one answer out, with the engine in this process (spec cli-tui-acp 4, 5)."""
