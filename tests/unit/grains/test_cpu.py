"""Grains of processors from recorded text; the values are those of Salt 3006.30."""

from __future__ import annotations

import pytest

from saltlite.grains import cpu


@pytest.mark.parametrize(
    ("text", "count", "model", "flags"),
    [
        (
            "processor\t: 0\nmodel name\t: X\nFeatures\t: a b\n\nprocessor\t: 1\nmodel name\t: Y\n",
            2, "Y", ["a", "b"],
        ),
        (
            "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\n\nprocessor\t: 1\n",
            2, "Unknown", ["fp", "asimd"],
        ),
        (
            "vendor_id       : IBM/S390\n# processors    : 4\nfeatures\t: esan3 zarch \n"
            "processor 0: version = FF,  identification = 2733E8,  machine = 2964\n",
            4, "IBM/S390", [],
        ),
        ("processor\t: 0\ncpu\t\t: POWER9, altivec\n", 1, "POWER9, altivec", []),
        ("", 0, "Unknown", []),
    ],
)  # fmt: skip
def test_cpu(text, count, model, flags):
    assert cpu.parse_cpuinfo(text) == {"num_cpus": count, "cpu_model": model, "cpu_flags": flags}
