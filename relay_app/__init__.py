"""Tasks between workspaces and the reports they owe."""
