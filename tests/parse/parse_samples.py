"""Documents for the tests of the parse room: a PDF made by hand, an article among its surroundings."""

WORDS = "The river rose in the night and by morning the lower streets were under water, said the mayor. "
ARTICLE = "".join(f"<p>Paragraph {n}. {WORDS}</p>" for n in range(8))
SURROUNDED = f"""<!DOCTYPE html><html lang="en"><head><title>Flood</title><style>p {{}}</style></head><body>
<header><a href=/>Home</a> <a href=/world>World</a></header>
<nav class=main-nav><ul><li><a href=/a>Alpha section</a><li><a href=/b>Beta section</a></ul></nav>
<div class="page"><div class="story-body"><h1>Flood in the valley</h1><script>var hidden = "code";</script>
{ARTICLE}</div>
<div class="share-bar">Share this on every network</div>
<div id="comments"><p>First comment of a reader, who was there and did not like it.</p></div>
<aside>Trending: ten things about cats</aside></div>
<footer>Imprint and copyright notice</footer></body></html>"""


def make_pdf(pages, title="A title", uri="http://a.example/linked"):
    """A PDF with a line of text and a link on each page."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(pages):
        link = f"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({uri})>>>>"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Resources<</Font<</F1 3 0 R>>>>"
            f"/Contents {5 + 2 * number} 0 R/Annots[{link}]>>".encode()
        )
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
        objects.append(b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream))
    objects.append(f"<</Title({title})>>".encode())
    body, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (count + 1)
    trailer = b"trailer<</Size %d/Root 1 0 R/Info %d 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        count + 1, count, len(body),
    )  # fmt: skip
    return body + head + table + trailer
