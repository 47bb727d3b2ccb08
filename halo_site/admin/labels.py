"""Names of rows and columns in the language of the reader.

Django makes them of our class and field names, in English. They get their translation here, at run time: written into
the models they would be part of the migrations, and the models know no languages.
"""

from collections.abc import Iterable

from django.apps import apps
from django.db.models import Field, Model
from django.utils import translation
from django.utils.translation import gettext_lazy

OURS = ("sessions_app", "workspaces_app", "relay_app", "extensions_app")


def our_models() -> list[type[Model]]:
    return [model for app in OURS for model in apps.get_app_config(app).get_models()]


def our_fields(model: type[Model]) -> Iterable["Field[object, object]"]:
    return (field for field in model._meta.get_fields() if isinstance(field, Field))


def translate_labels() -> None:
    """Once, when the pages are loaded."""
    with translation.override(None):  # the labels as they are in the source
        for model in our_models():
            for name in ("verbose_name_plural", "verbose_name"):
                setattr(model._meta, name, gettext_lazy(str(getattr(model._meta, name))))
            for field in our_fields(model):
                field.verbose_name = gettext_lazy(str(field.verbose_name))
