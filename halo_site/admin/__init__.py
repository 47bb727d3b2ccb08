"""The staff site's pages that belong to no app: users, sign-in attempts, the dashboard.

Django imports this package when it looks for admin pages.
"""

from . import labels, signin, users

__all__ = ["signin", "users"]

labels.translate_labels()
