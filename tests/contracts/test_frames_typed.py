"""The browser's frame types come from the event classes; this fails when somebody changes one and forgets the other."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_browser_types_are_what_the_event_classes_say():
    done = subprocess.run(
        [sys.executable, "scripts/gen_frames.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
