"""Jinja's compiler, which writes the code that a template is, and counts its steps.

Loaded when a template is compiled: most are compiled already (:mod:`saltlite.templates.compiled`).
"""

from __future__ import annotations

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame


class CountingGenerator(CodeGenerator):
    """Jinja's compiler; the loops that it writes are counted, and joined texts measured."""

    def visit_For(self, node: nodes.For, frame: Frame) -> None:
        """A loop."""
        node.iter = nodes.Call(
            nodes.EnvironmentAttribute("meter"), [node.iter], [], None, None, lineno=node.lineno
        )
        super().visit_For(node, frame)

    def visit_Call(self, node: nodes.Call, frame: Frame, forward_caller: bool = False) -> None:
        """A call; ours needs no leave of the sandbox."""
        if not isinstance(node.node, nodes.EnvironmentAttribute):
            super().visit_Call(node, frame, forward_caller=forward_caller)
            return
        self.write("environment.meter.rounds(")
        self.visit(node.args[0], frame)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        """Texts joined with ``~``."""
        self.write("environment.meter.measure(")
        super().visit_Concat(node, frame)
        self.write(")")
