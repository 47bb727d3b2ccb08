"""The index of what is on disk, for the staff site. Nobody reads it to decide what is installed (spec/README 12)."""

from django.db import models


class Extension(models.Model):
    """One folder of the extensions root, as the scanner found it last. Rebuilt whenever it scans."""

    folder = models.CharField(max_length=255, unique=True)
    name = models.CharField(max_length=64, blank=True)
    version = models.CharField(max_length=200, blank=True)
    file_types = models.JSONField(default=list, blank=True)
    priority = models.CharField(max_length=16, blank=True)
    capabilities = models.JSONField(default=list, blank=True)
    error = models.TextField(blank=True)
    installed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["folder"]

    def __str__(self) -> str:
        return self.name or self.folder
