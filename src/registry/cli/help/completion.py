"""`skill-registry completion`: commands and options that the shell completes."""

import click
from click.shell_completion import get_completion_class

_PROGRAM = "skill-registry"
_VARIABLE = "_SKILL_REGISTRY_COMPLETE"
"""The variable in which click looks for a request of the shell."""

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print a script that completes commands in a shell.

    \b
    bash  skill-registry completion bash > ~/.local/share/bash-completion/completions/skill-registry
    zsh   skill-registry completion zsh > "${fpath[1]}/_skill-registry"
    fish  skill-registry completion fish > ~/.config/fish/completions/skill-registry.fish

    To try it in the shell that runs: eval "$(skill-registry completion bash)". It needs bash 4.4 or newer.
    """
    scripts = get_completion_class(shell)
    assert scripts is not None  # click knows the three shells
    click.echo(scripts(click.get_current_context().find_root().command, {}, _PROGRAM, _VARIABLE).source())
