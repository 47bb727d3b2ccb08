from ..engine.conftest import engine, in_db, viewer
from ..engine.test_engine import quick_retries, vendor

__all__ = ["engine", "in_db", "quick_retries", "vendor", "viewer"]
