"""Where Django answers. The browser app's page and the static files are served by asgi.py."""

from django.contrib import admin
from django.urls import path, re_path

from .api import api, server_error, unknown_route

handler500 = server_error

admin.autodiscover()

urlpatterns = [
    path("api/", api.urls),
    re_path(r"^api(?:/.*)?\Z", unknown_route),
    path("admin/", admin.site.urls),
]
