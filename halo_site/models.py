"""Rows of the site: tokens that logged out, until they would have ended anyway; and signs of life of processes."""

from django.db import models


class RevokedToken(models.Model):
    jti = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField(db_index=True)


class Heartbeat(models.Model):
    """One process among several on this database (heartbeat.py)."""

    owner = models.CharField(max_length=128, unique=True)  # as in a lease: boot and pid namespace, pid, start
    name = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    memory = models.PositiveBigIntegerField(null=True)  # resident, bytes
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)
