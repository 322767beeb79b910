"""Models on the Hugging Face Hub: one model file, and the model card as the repository's README.

`huggingface_hub` (extra `hub`) handles all network traffic. Nothing is downloaded or uploaded unless
requested.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from ..artifact.archive import write_archive
from ..artifact.fitted import Fitted
from ..errors import ArchiveError, ConfigError, OutputError, PrivacyError, import_extra
from ..privacy.card import model_card, to_markdown
from ..privacy.gate.release import accept_risk as record_risk
from ..privacy.gate.release import failed, file_leaks, reasons_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

FILE = "model.tabtree"
"""Name of the model file in a repository."""


class Download(TypedDict, total=False):
    """How a file is downloaded; `TabTreeFormer.from_pretrained` explains each option."""

    revision: str | None
    token: str | bool | None
    cache_dir: str | Path | None
    local_files_only: bool
    endpoint: str | None


class OnHub:
    """Methods of `TabTreeFormer` for the Hub."""

    def push_to_hub(
        self,
        repo_id: str,
        *,
        private: bool = True,
        token: str | bool | None = None,
        revision: str | None = None,
        commit_message: str = "Upload a tabtreeformer model",
        accept_risk: str | None = None,
        endpoint: str | None = None,
    ) -> str:
        """Upload the model file, with its card as README, and return the address of the commit.

        Refused for a model that failed its privacy verdict or whose file reveals training rows, unless a reason is
        given: whoever can download the file can attack it.

        Parameters
        ----------
        repo_id
            `user/name`; the repository is created if it does not exist.
        private
            Whether a new repository is private.
        token
            Access token of the Hub; by default the one that `hf auth login` stored.
        revision
            Branch to commit to; by default the main one.
        commit_message
            First line of the commit.
        accept_risk
            Why the file is uploaded despite its verdict; recorded in the file and on its card.
        endpoint
            Address of a Hub other than the public one.
        """
        fitted: Fitted = self._check_fitted()  # type: ignore[attr-defined]
        _check_upload(fitted.record, accept_risk)
        hub = import_extra("huggingface_hub", "hub")
        api = hub.HfApi(endpoint=endpoint, token=token)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / FILE
            write_archive(path, self._as_it_is().to_members())  # type: ignore[attr-defined]
            if accept_risk is not None and _held_back(fitted.record):
                record_risk(path, f"uploaded to the Hub: {accept_risk.strip()}", 0)
            readme = hub_card(path, repo_id)
            operations = [
                hub.CommitOperationAdd("README.md", readme.encode()),
                hub.CommitOperationAdd(FILE, str(path)),
            ]
            try:
                api.create_repo(repo_id, private=private, exist_ok=True)
                done = api.create_commit(repo_id, operations, commit_message=commit_message, revision=revision)
            except (hub.errors.HfHubHTTPError, hub.errors.HFValidationError, OSError) as error:
                raise OutputError(f"cannot upload to {repo_id!r}: {_first_line(error)}") from error
        return str(done.commit_url)

    @classmethod
    def from_pretrained(
        cls,
        repo_id: str,
        *,
        device: str = "auto",
        verbose: bool = True,
        **download: Unpack[Download],
    ) -> Any:
        """Download a model that `push_to_hub` uploaded, and load it; nothing in it is executed.

        Parameters
        ----------
        repo_id
            `user/name`.
        device, verbose
            See the class.
        revision
            Branch, tag or commit; by default the latest commit of the main branch.
        token
            Access token of the Hub, for private repositories; by default the one that `hf auth login` stored.
        cache_dir
            Where downloads are kept; by default the cache of `huggingface_hub`.
        local_files_only
            Use only what was downloaded before.
        endpoint
            Address of a Hub other than the public one.
        **download
            The five options above, and any other of `huggingface_hub.hf_hub_download`.
        """
        hub = import_extra("huggingface_hub", "hub")
        try:
            path = hub.hf_hub_download(repo_id, FILE, **download)
        except (hub.errors.HfHubHTTPError, hub.errors.HFValidationError, hub.errors.LocalEntryNotFoundError) as error:
            raise ArchiveError(
                f"cannot get {FILE} of {repo_id!r}: {_first_line(error)}; check the name, the revision and the token"
            ) from error
        return cls.load(path, device=device, verbose=verbose)  # type: ignore[attr-defined]


def hub_card(path: Path, repo_id: str) -> str:
    """The model card with the Hub's metadata, and with an example after its title."""
    card = model_card(path)
    title, rest = to_markdown({**card, "name": repo_id}).split("\n", 1)
    return f"""---
library_name: tabtreeformer
tags:
- tabular
- synthetic-data
- tabtreeformer
---

{title}

```python
from tabtreeformer import TabTreeFormer  # pip install 'tabtreeformer[hub]'

rows = TabTreeFormer.from_pretrained("{repo_id}").sample(1000)
```
{rest}"""


def _held_back(record: Mapping[str, Any]) -> bool:
    return failed(record) or file_leaks(record)


def _check_upload(record: Mapping[str, Any], accepted: str | None) -> None:
    if accepted is not None and not accepted.strip():
        raise ConfigError("accept_risk needs a reason in words; it is written into the model file")
    if accepted is None and _held_back(record):
        what = "this model failed its privacy verdict" if failed(record) else "the file of this model reveals its rows"
        why = reasons_of(record["privacy"] if failed(record) else record["privacy"]["file"])
        raise PrivacyError(
            f"{what}: {why}. Pass on rows instead, fit again (privacy='strict', dp=DP(epsilon=…)), or "
            "upload it anyway with accept_risk='the reason', which is recorded in the file"
        )


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n", 1)[0]
