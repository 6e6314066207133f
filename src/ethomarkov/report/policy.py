"""Scripts of a page, and the policy that lets the browser run them and nothing else."""

import base64
import hashlib
from collections.abc import Iterable
from importlib import resources

from markupsafe import Markup


def read_template(name: str) -> str:
    """Read a template or a script of this package.

    Parameters
    ----------
    name
        Of the file.
    """
    text = resources.files("ethomarkov.report").joinpath(f"templates/{name}").read_text(encoding="utf-8")
    # The browser reads line ends as \n before it compares a script with its hash.
    return text.replace("\r\n", "\n")


def content_policy(scripts: Iterable[str]) -> Markup:
    """Forbid a page every request, and every script but its own.

    Parameters
    ----------
    scripts
        As they stand between their tags.

    Returns
    -------
    policy
        For the attribute of the tag with which a page states it.
    """
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return Markup(
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
