"""Files made of data in one of the formats that there are, or of a text in base64."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from saltlite.context import MinionContext
from saltlite.core.data import merge, traverse
from saltlite.core.dataclasses import dataclass
from saltlite.errors import FunctionError
from saltlite.highstate.resource import Declared, Resource, Step, Verdict
from saltlite.providers.file import content, hashes
from saltlite.providers.file.managed import DesiredFile, encode_contents
from saltlite.providers.file.permissions import DesiredPermissions
from saltlite.states.file._checks import explain_bad_name, failure, system_errors
from saltlite.states.file.managed import UNABLE, ManagedFile
from saltlite.templates.serializers import SERIALIZERS

DESERIALIZER = (
    "The 'deserializer_opts' option is ignored unless merge_if_exists is set to True."
)  # fmt: skip

_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "yaml": {"default_flow_style": False},
    "json": {"indent": 2, "separators": (",", ": "), "sort_keys": True},
}
_ENDED = ("plist", "yaml", "yamlex")
MSGPACK = "msgpack"
NOTHING = "<_null_>"


def serialize(
    ctx: MinionContext,
    name: str,
    dataset: object = None,
    dataset_pillar: object = None,
    user: object = None,
    group: object = None,
    mode: object = None,
    backup: object = "",
    makedirs: bool = False,
    show_changes: Any = True,
    create: bool = True,
    merge_if_exists: bool = False,
    encoding: Any = None,
    encoding_errors: str = "strict",
    serializer: object = None,
    serializer_opts: object = None,
    deserializer_opts: object = None,
    **kwargs: Any,
) -> Declared:
    """Data in a file: yaml, json and what other formats there are."""
    if not name:
        return failure("Must provide name to file.serialize")
    name = os.path.expanduser(name)
    if not create and not os.path.isfile(name):
        comment = f"File {name} is not present and is not set for creation"
        return Verdict(result=True, comment=comment)
    form = _choose_format(serializer, kwargs.get("formatter"))
    if dataset is not None and dataset_pillar:
        return failure("Only one of 'dataset' and 'dataset_pillar' is permitted")
    if dataset_pillar:
        dataset = traverse(ctx.pillar, dataset_pillar, {})
    if dataset is None:
        return failure("Neither 'dataset' nor 'dataset_pillar' was defined")
    show_changes = show_changes and not dataset_pillar  # pillar is secret
    difference: Any = None
    if merge_if_exists:
        there = _read_existing(name, form, deserializer_opts)
        if there is not None:
            dataset = _merge_data(there, dataset)
            difference = _compare_data(there, dataset)
            if difference is None:
                comment = f"The file {name} is in the correct state"
                return Verdict(result=True, comment=comment)
    written = _serialize_data(dataset, form, serializer_opts)
    with system_errors(UNABLE):
        data = encode_contents(written, encoding, encoding_errors)
    file = DesiredFile(
        name=name, wanted=DesiredPermissions(user=user, group=group, mode=mode), contents=data,
        backup=backup, makedirs=makedirs, show_changes=show_changes,
    )  # fmt: skip
    return ManagedFile(
        file=file, difference=difference if show_changes else None,
        warnings=(DESERIALIZER,) if deserializer_opts and not merge_if_exists else (),
        intention=f"Dataset will be serialized and stored into {name}",
    )  # fmt: skip


def _choose_format(serializer: object, formatter: object) -> str:
    """The name of the format.

    Raises:
        FunctionError: it is given twice, or there is none of that name.
    """
    if serializer and formatter:
        raise FunctionError("Only one of serializer and formatter are allowed")
    name = str(serializer or formatter or "yaml").lower()
    if name == MSGPACK:
        return name
    found = SERIALIZERS.get(name)
    if found is None or found.serialize is None:
        raise FunctionError(
            f"The {name} serializer could not be found. It either does not exist or its"
            " prerequisites are not installed."
        )
    return name


def _read_options(name: str, given: object, *, reading: bool) -> dict[str, Any]:
    """How it is written or read: what is given as a list of maps, over what goes without saying."""
    found = {} if reading else dict(_DEFAULTS.get(name, {}))
    parts = given if isinstance(given, list) else [given] if given else []
    for part in parts:
        if isinstance(part, Mapping):
            found.update(part)
    return found


def _read_existing(path: str, name: str, given: object) -> Any:
    """The data in a file, ``None`` if there is no file.

    Raises:
        FunctionError: it cannot be read.
    """
    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            return _read_data(stream.read(), name, _read_options(name, given, reading=True))
    except (OSError, ValueError) as error:
        raise FunctionError(f"Failed to deserialize existing data: {error}") from error


def _read_data(data: bytes, name: str, known: Mapping[str, object]) -> Any:
    if name == MSGPACK:
        return _unpack_msgpack(data)
    read = SERIALIZERS[name].deserialize
    if read is None:
        raise FunctionError(f"merge_if_exists is not supported for the {name} serializer")
    try:
        return read(data.decode(), **known)
    except FunctionError as error:
        raise FunctionError(f"Failed to deserialize existing data: {error}") from error


def _merge_data(under: object, over: object) -> Any:
    """New data laid on what is there; raises FunctionError for what is no map."""
    if isinstance(under, Mapping) and isinstance(over, Mapping):
        return merge(under, over)
    raise FunctionError("merge_if_exists merges maps only; one of the two is none")


def _pack_msgpack(data: object, **given: Any) -> bytes:
    """The data in msgpack; options of its own that are passed on change the form of numbers."""
    import msgpack

    known = {name: bool(given[name]) for name in ("use_single_float",) if name in given}
    return bytes(msgpack.packb(data, **known))


def _unpack_msgpack(data: bytes) -> Any:
    """What ``data`` in msgpack stands for.

    Raises:
        ValueError: it is none.
    """
    import msgpack

    try:
        return msgpack.unpackb(data)
    except msgpack.UnpackException as error:
        raise ValueError(str(error) or type(error).__name__) from error


def _serialize_data(data: object, name: str, given: object) -> str | bytes:
    """The data as it is written; a text is ended by a line feed, in some formats by one more.

    Raises:
        FunctionError: such data, or such options, are none for this format.
    """
    if name != MSGPACK:
        return _write_text(data, name, given)
    try:
        return _pack_msgpack(data, **_read_options(name, given, reading=False))
    except (OverflowError, TypeError, ValueError) as error:
        raise FunctionError(f"{name}: {error}") from error


def _write_text(data: object, name: str, given: object) -> str:
    """The data in a format that is text."""
    write = SERIALIZERS[name].serialize
    if write is None:
        raise FunctionError(f"The {name} serializer does not write")
    try:
        written = str(write(data, **_read_options(name, given, reading=False)))
    except (AttributeError, TypeError, ValueError) as error:
        raise FunctionError(f"{name}: {error}") from error
    return written if name in _ENDED and written.endswith("\n") else f"{written}\n"


def _compare_data(old: object, new: object) -> Any:
    """What differs, as ``{"key": {"old", "new"}}``, map in map; ``None`` if nothing does."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return None if old == new else {"old": old, "new": new}
    found: dict[Any, Any] = {}
    for key in [*old, *(key for key in new if key not in old)]:
        part = _compare_data(old.get(key, NOTHING), new.get(key, NOTHING))
        if part is not None:
            found[key] = part
    return found or None


def decode(
    ctx: MinionContext,
    name: str,
    encoded_data: object = None,
    contents_pillar: object = None,
    encoding_type: str = "base64",
    checksum: str = "md5",
) -> Declared:
    """A file with what a text in base64 stands for."""
    if not encoded_data and not contents_pillar:
        return failure("Specify either the 'encoded_data' or 'contents_pillar' argument.")
    if encoded_data and contents_pillar:
        return failure("Specify only one 'encoded_data' or 'contents_pillar' argument.")
    wrong = explain_bad_name(name, "decode")
    if wrong:
        return wrong
    if encoding_type != "base64":
        return failure(f"encoding_type: there is no {encoding_type} (only base64)")
    if checksum not in hashes.LENGTHS:
        return failure(f"checksum: there is no {checksum} (there are {', '.join(hashes.LENGTHS)})")
    if contents_pillar:
        encoded_data = traverse(ctx.pillar, contents_pillar, None)
        if encoded_data is None:
            return failure("Pillar data not found.")
    data = _decode_base64(encoded_data)
    return Decoded(name=os.path.expanduser(name), data=data, form=checksum)


def _decode_base64(text: object) -> bytes:
    """The bytes of a text in base64; raises FunctionError."""
    data = text if isinstance(text, bytes) else str(text).encode()
    try:
        return base64.b64decode(data)
    except binascii.Error as error:
        raise FunctionError(f"the data are no base64: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded(Resource[str | None]):
    """A file with these bytes; it is told by its hash, as the hash is what is read."""

    name: str
    data: bytes
    form: str

    def read(self, ctx: MinionContext) -> str | None:
        if not os.path.lexists(self.name):
            return None
        with system_errors():
            return hashes.file_hash(self.name, self.form)

    def plan(self, now: str | None) -> Sequence[Step]:
        new = hashlib.new(self.form, self.data).hexdigest()
        if now == new:
            return ()
        changes = {} if now is None else {"old": now, "new": new}
        return (Step(would="File is set to be updated.", changes=changes, run=self._write_decoded),)

    def _write_decoded(self, ctx: MinionContext) -> None:
        with system_errors():
            content.put_data(self.name, self.data)

    def comment_unchanged(self, now: str | None) -> str:
        return "File is in the correct state."

    def comment_changed(self, before: str | None, after: str | None, steps: Sequence[Step]) -> str:
        return "File was updated."

    def changes(
        self, before: str | None, after: str | None, steps: Sequence[Step]
    ) -> dict[str, Any]:
        return {"old": before, "new": after}
