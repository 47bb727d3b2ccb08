"""Installable viewers for the canvas."""
