"""How the staff site writes dates. Days are UTC days."""
