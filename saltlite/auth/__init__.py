"""External authentication: who says that a name and a password belong together, and its groups.

A module is named as in ``external_auth``. ``auth(ctx, username, password)`` says whether somebody
is who he says. It may also have ``groups(ctx, username)``, his groups; ``acl(ctx, username,
password)``, entries for his access list beside those of the configuration; ``is_valid(ctx,
username)``, whether he may still use a token.
"""
