"""
Releases in place
"""


def present(name, release="2.0", **kwargs):
    """
    A link that names a release

    name
        The link.
    """
    ret = {"name": name, "result": True, "changes": {}, "comment": "as declared"}
    if __salt__["release.current"](name) == release:
        return ret
    if __opts__["test"]:
        return {**ret, "result": None, "comment": "would be changed"}
    __salt__["release.set"](name, release)
    return {**ret, "changes": {"new": release}, "comment": "changed"}
