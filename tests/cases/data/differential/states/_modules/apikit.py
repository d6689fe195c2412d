"""Calls what real Salt and saltlite have of ``salt.*``, so that a list of commands can compare it."""

import importlib


def ask(module, function, args=(), kwargs=None):
    """What ``salt.<module>.<function>`` gives."""
    found = getattr(importlib.import_module(f"salt.{module}"), function)
    return found(*args, **(kwargs or {}))


def version_order(first, second):
    """Whether the first version is before the second."""
    from salt.utils.versions import LooseVersion

    return LooseVersion(first) < LooseVersion(second)


def caseless(data, key):
    """A value by a key in any case."""
    import salt.utils.data

    return salt.utils.data.CaseInsensitiveDict(data).get(key)


def text_file(path, text):
    """Write a file through salt.utils.files and read it again."""
    import salt.utils.files
    import salt.utils.stringutils

    with salt.utils.files.fopen(path, "w") as file:
        file.write(salt.utils.stringutils.to_str(text))
    with salt.utils.files.fopen(path) as file:
        return file.read()


def yaml_round(data):
    """A value through salt.utils.yaml and back."""
    import salt.utils.yaml

    text = salt.utils.yaml.safe_dump(data, default_flow_style=False)
    return [text, salt.utils.yaml.safe_load(text)]


def failures():
    """Names and kinship of what salt.exceptions has."""
    import salt.exceptions

    kinds = [
        "SaltException",
        "CommandExecutionError",
        "CommandNotFoundError",
        "SaltInvocationError",
        "SaltRenderError",
        "SaltClientError",
        "SaltReqTimeoutError",
        "MinionError",
        "ArgumentValueError",
    ]
    return {
        name: [
            issubclass(getattr(salt.exceptions, name), salt.exceptions.SaltException),
            issubclass(getattr(salt.exceptions, name), TypeError),
            str(getattr(salt.exceptions, name)("what went wrong")),
        ]
        for name in kinds
    }
