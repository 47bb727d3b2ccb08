"""Source control of a workspace, by the git program (spec files-git-terminal 29 to 43; SECURITY-BAR S4, S5).

`run.py` is the one place that starts git, always in a sandbox where there is one. `parse.py` and `remote_url.py` are
pure. `read.py` looks, `write.py` changes the repository, `sync.py` pushes and pulls, `credentials.py`, `ssh_keys.py`
and `ssh_agent.py` keep what that needs, `routes.py` is the HTTP edge.
"""
