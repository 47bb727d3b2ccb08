"""Tables of data files, a page at a time (spec previews 3.5, 4).

`routes.py` opens the file through the jail and hands the open handle to a child process (`run.py`, `child.py`), which
reads it with one of the readers below and with little memory, little time and no network: a hostile or broken file
ends as a sentence, never as a fault of the server.
"""
