"""Taking over what somebody shared with `/workspace share`: preview, choice, all or nothing, undo."""
