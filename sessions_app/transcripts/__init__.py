"""The copy of a conversation in its workspace: appended at the end of runs, read only by import (ARCHITECTURE 4)."""
