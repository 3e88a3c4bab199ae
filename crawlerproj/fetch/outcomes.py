"""How did a fetch fail? One word for each error, and whether the host or the page is to blame."""

from __future__ import annotations

from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)

from crawlerproj.fetch.curl_handler import AddressRefusedError
from crawlerproj.fetch.curl_response import CertificateError, ConnectionEndedError

_WORDS: tuple[tuple[type[Exception], str], ...] = (
    (AddressRefusedError, "refused_address"),
    (CannotResolveHostError, "dns"),
    (DownloadConnectionRefusedError, "connection_refused"),
    (DownloadTimeoutError, "timeout"),
    (DownloadCancelledError, "cancelled"),
    (CertificateError, "certificate"),
    (ResponseDataLossError, "data_loss"),
    (ConnectionEndedError, "connection_ended"),
    (UnsupportedURLSchemeError, "scheme"),
    (DownloadFailedError, "failed"),
    (IgnoreRequest, "ignored"),
)


def error_word(error: Exception) -> str:
    """The outcome under which this error is counted and kept."""
    for kind, word in _WORDS:
        if isinstance(error, kind):
            return word
    return type(error).__name__


def host_is_to_blame(error: Exception) -> bool:
    """Could no page of the host be had now? A timeout may be the page's own fault."""
    return isinstance(error, (CannotResolveHostError, DownloadConnectionRefusedError)) and not isinstance(
        error, AddressRefusedError
    )
