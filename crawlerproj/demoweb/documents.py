"""PDFs, Office files and other documents that are no HTML."""

from crawlerproj.demoweb.answers import Answer
from crawlerproj.demoweb.document_files import csv, docx, odt, pdf, pptx, rtf, xlsx
from crawlerproj.demoweb.own_pages import OwnPages

_OFFICE = "application/vnd.openxmlformats-officedocument"
_MAKERS = (
    (".pdf", "application/pdf", pdf),
    (".docx", f"{_OFFICE}.wordprocessingml.document", docx),
    (".xlsx", f"{_OFFICE}.spreadsheetml.sheet", xlsx),
    (".pptx", f"{_OFFICE}.presentationml.presentation", pptx),
    (".odt", "application/vnd.oasis.opendocument.text", odt),
    (".rtf", "application/rtf", rtf),
    (".csv", "text/csv", csv),
)


class Documents(OwnPages):
    """Meets a share of the pages."""

    name = "documents"
    default_share = 0.02

    def path(self, page: int) -> str:
        return f"/odd/{self.name}/{page}{_MAKERS[page % len(_MAKERS)][0]}"

    def own_page(self, host: int, page: int, query: str) -> Answer:
        _, content_type, make = _MAKERS[page % len(_MAKERS)]
        lines = [f"Report {page} of {self.layout.names[host]}", "It was written to be read by machines."]
        return Answer(200, body=make(lines), content_type=content_type)
