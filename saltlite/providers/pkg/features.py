"""What this machine's package manager can do besides installing, asked before anything has run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from saltlite.providers.pkg import provider
from saltlite.providers.pkg.options import PackageOptions

if TYPE_CHECKING:
    from saltlite.context import MinionContext


def serves(ctx: MinionContext, function: str) -> bool:
    """Whether one of ``group_diff``, ``list_patches``, ``list_downloaded``, ``verify`` is there.

    Raises:
        FunctionUnavailable: there is no package manager that we know.
    """
    from saltlite.providers.pkg.apt import Apt
    from saltlite.providers.pkg.dnf import Dnf
    from saltlite.providers.pkg.rpm import Rpm

    able = {
        "group_diff": (Dnf,),
        "list_patches": (Rpm,),
        "list_downloaded": (Apt, Rpm),
        "verify": (Apt, Rpm),
    }
    return isinstance(provider(ctx), able[function])


def lacking(ctx: MinionContext, options: PackageOptions) -> str:
    """Why an installation cannot be as its keywords want it: one sentence, ``""`` if it can.

    What is a mere preference of one package manager (``install_recommends``, ``setopt`` …) means
    nothing to the others, as in Salt.
    """
    from saltlite.providers.pkg.apk import Apk
    from saltlite.providers.pkg.apt import Apt
    from saltlite.providers.pkg.rpm import Rpm

    found, subject = provider(ctx), "The package manager of this machine cannot"
    if options.fromrepo and not isinstance(found, (Apt, Rpm)):
        return f"{subject} install from one repository alone (fromrepo)"
    if options.downloadonly and isinstance(found, Apk):
        return f"{subject} get packages without installing them (downloadonly)"
    return ""
