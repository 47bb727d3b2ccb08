"""Chat networks and the web widget."""
