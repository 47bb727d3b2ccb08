"""Model vendors: profiles are data, dialects are pure code, `http.py` is the one sender."""
