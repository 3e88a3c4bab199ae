"""The smallest files that readers of PDF, Office Open XML, OpenDocument, RTF and CSV accept."""

import io
import zipfile

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
_PACKAGE_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"
_LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_OFFICE = "application/vnd.openxmlformats-officedocument"


def pdf(lines: list[str]) -> bytes:
    text = " T* ".join(f"({line}) Tj" for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 720 Td {text} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, table) + trailer


def docx(lines: list[str]) -> bytes:
    paragraphs = "".join(f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in lines)
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = f"{_XML}<w:document {space}><w:body>{paragraphs}</w:body></w:document>"
    return _package("word/document.xml", f"{_OFFICE}.wordprocessingml.document.main+xml", {"": body})


def xlsx(lines: list[str]) -> bytes:
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rows = "".join(
        f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>{line}</t></is></c></row>'
        for n, line in enumerate(lines, 1)
    )
    sheet = f"{_XML}<worksheet {space}><sheetData>{rows}</sheetData></worksheet>"
    book = (
        f'{_XML}<workbook {space} xmlns:r="{_LINKS}"><sheets>'
        '<sheet name="Sheet" sheetId="1" r:id="rId1"/></sheets></workbook>'
    )
    parts = {"": book, "xl/worksheets/sheet1.xml": sheet}
    kinds = {"xl/worksheets/sheet1.xml": f"{_OFFICE}.spreadsheetml.worksheet+xml"}
    links = {"xl/_rels/workbook.xml.rels": ("worksheet", "worksheets/sheet1.xml")}
    return _package("xl/workbook.xml", f"{_OFFICE}.spreadsheetml.sheet.main+xml", parts, kinds, links)


def pptx(lines: list[str]) -> bytes:
    main = "http://schemas.openxmlformats.org/presentationml/2006/main"
    drawing = "http://schemas.openxmlformats.org/drawingml/2006/main"
    texts = "".join(f"<a:p><a:r><a:t>{line}</a:t></a:r></a:p>" for line in lines)
    slide = (
        f'{_XML}<p:sld xmlns:p="{main}" xmlns:a="{drawing}"><p:cSld><p:spTree><p:nvGrpSpPr>'
        '<p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/><p:sp><p:nvSpPr>'
        '<p:cNvPr id="2" name="Text"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        f"<p:txBody><a:bodyPr/>{texts}</p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
    )
    show = (
        f'{_XML}<p:presentation xmlns:p="{main}" xmlns:r="{_LINKS}"><p:sldIdLst>'
        '<p:sldId id="256" r:id="rId1"/></p:sldIdLst></p:presentation>'
    )
    parts = {"": show, "ppt/slides/slide1.xml": slide}
    kinds = {"ppt/slides/slide1.xml": f"{_OFFICE}.presentationml.slide+xml"}
    links = {"ppt/_rels/presentation.xml.rels": ("slide", "slides/slide1.xml")}
    return _package(
        "ppt/presentation.xml", f"{_OFFICE}.presentationml.presentation.main+xml", parts, kinds, links
    )


def odt(lines: list[str]) -> bytes:
    space = "urn:oasis:names:tc:opendocument:xmlns"
    kind = "application/vnd.oasis.opendocument.text"
    paragraphs = "".join(f"<text:p>{line}</text:p>" for line in lines)
    content = (
        f'{_XML}<office:document-content xmlns:office="{space}:office:1.0" xmlns:text="{space}:text:1.0" '
        f'office:version="1.2"><office:body><office:text>{paragraphs}</office:text></office:body>'
        "</office:document-content>"
    )
    manifest = (
        f'{_XML}<manifest:manifest xmlns:manifest="{space}:manifest:1.0" manifest:version="1.2">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    return _zip({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def rtf(lines: list[str]) -> bytes:
    return ("{\\rtf1\\ansi " + "\\par ".join(lines) + "}").encode()


def csv(lines: list[str]) -> bytes:
    return "".join(f'{number},"{line}"\r\n' for number, line in enumerate(lines)).encode()


def _package(
    main: str,
    main_kind: str,
    parts: dict[str, str],
    kinds: dict[str, str] | None = None,
    links: dict[str, tuple[str, str]] | None = None,
) -> bytes:
    """An Office Open XML package; the part without a name is the main one."""
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{kind}"/>'
        for name, kind in {main: main_kind, **(kinds or {})}.items()
    )
    files = {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_TYPES}"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        "_rels/.rels": _relations("officeDocument", main),
    }
    for place, (kind, target) in (links or {}).items():
        files[place] = _relations(kind, target)
    files.update({name or main: text for name, text in parts.items()})
    return _zip(files)


def _relations(kind: str, target: str) -> str:
    link = f'<Relationship Id="rId1" Type="{_LINKS}/{kind}" Target="{target}"/>'
    return f'{_XML}<Relationships xmlns="{_PACKAGE_LINKS}">{link}</Relationships>'


def _zip(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)  # with a fixed date: the same bytes every time
            # OpenDocument wants its first file unpacked.
            entry.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(entry, text)
    return out.getvalue()
