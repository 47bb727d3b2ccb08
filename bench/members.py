"""`python -m bench.members WORKSPACE COUNT`: members with full access, and a login cookie for each, as JSON."""

import json
import os
import sys

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_site.settings")
    django.setup()
    from django.contrib.auth.models import User

    from halo_site.auth import new_login, token_of
    from workspaces_app.models import Membership, Workspace

    workspace = Workspace.objects.get(path=sys.argv[1])
    cookies = []
    for number in range(int(sys.argv[2])):
        user, made = User.objects.get_or_create(username=f"bench-{number}")
        if made:
            user.set_password("bench-password-1")
            user.save()
        Membership.objects.get_or_create(workspace=workspace, user=user, defaults={"level": "full"})
        cookies.append(f"halo_token={token_of(new_login(user))}")
    print(json.dumps(cookies))


if __name__ == "__main__":
    main()
