"""``kdissect completion``: what a shell needs to complete commands."""

from __future__ import annotations

import click

from kdissect.cli.command import Command

_EXAMPLES = [
    ("For bash, from the next shell on:", "kdissect completion bash >> ~/.bashrc"),
    ("For zsh:", "kdissect completion zsh >> ~/.zshrc"),
    ("For fish:", "kdissect completion fish > ~/.config/fish/completions/kdissect.fish"),
]


@click.command(cls=Command, examples=_EXAMPLES, short_help="Print what makes the shell complete commands.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a script for SHELL that completes commands, options, files, formats, columns, fields and API names.

    In filters, words complete to field names, and behind 'api ==' or 'error =='
    to the names of APIs and errors.
    """
    from click.shell_completion import get_completion_class

    from kdissect.cli.app import application

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(application, {}, "kdissect", "_KDISSECT_COMPLETE").source())
    return 0
