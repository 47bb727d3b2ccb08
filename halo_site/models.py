"""Rows of the site: logins that ended before their time, lock-outs, and signs of life of processes."""

from django.conf import settings
from django.db import models


class RevokedToken(models.Model):
    jti = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField(db_index=True)


class LoginRound(models.Model):
    """How often a person logged out everywhere: a login of an earlier round is over. No row = never."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="+")
    number = models.PositiveIntegerField(default=0)


class LoginLock(models.Model):
    """The newest lock-out of one account or address (lockouts.py)."""

    subject = models.CharField(max_length=300, unique=True)  # "account anna", "address 192.0.2.7"
    number = models.PositiveIntegerField()  # in a row, from 1: how long it lasts
    until = models.DateTimeField(db_index=True)


class Heartbeat(models.Model):
    """One process among several on this database (heartbeat.py)."""

    owner = models.CharField(max_length=128, unique=True)  # as in a lease: boot and pid namespace, pid, start
    name = models.CharField(max_length=64)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    memory = models.PositiveBigIntegerField(null=True)  # resident, bytes
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)
