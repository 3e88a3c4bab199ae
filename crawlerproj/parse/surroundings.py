"""Is this element the page's own content, or something around it? Judged by its class and id names.

Names are judged one at a time and part by part (`post-share_bar` has the parts post, share, bar).
Words were chosen on news pages; nothing here is needed to get text at all, only to get less of the rest.
"""

from __future__ import annotations

import re


def _any_of(words: str) -> str:
    return "|".join(words.split())


_NOISE = re.compile(
    r"(?:.*[-_])?(?:"
    + _any_of(
        r"""nav navbar navigation menu breadcrumbs? crumbs? side-?bar\w* rail aside footer masthead toolbar
        share\w* sharing social\w* follow
        related\w* recommend\w* recirc\w* more-?(?:stories|news|from|on) trending popular
        most-?(?:read|popular|viewed|recent) read-?(?:more|next) also latest outbrain taboola zergnet
        comments? disqus respond reply replies livefyre discussion
        ads? advert\w* adsense sponsor\w* promo\w* dfp banner
        newsletter\w* subscri\w* sign-?up signin login register email
        cookies? gdpr consent modal popup overlay lightbox
        tags? tag-?list topics? keywords categories
        byline authors? bio meta metadata date dateline timestamp published pub-?date
        caption credit copyright gallery slideshow carousel thumb\w*
        widgets? pagination pager skip print hidden hide screen-?reader\w* sr-only visually-?hidden toc tools?
        buttons? btn disclaimer legal infobox rating poll quiz survey donate donation jump search\w* header"""
    )
    + r")(?:$|[-_])",
    re.I,
)
# Names that describe the content, not a part around it: `has-thumbnail`, `tag-social`, `field-label-hidden`.
_STATE = re.compile(
    r"(?:"
    + _any_of(
        "has is no not with js field type tag category status format post page single wp layout col size "
        "align"
    )
    + r")[-_]",
    re.I,
)
_CONTENT = re.compile(
    r"(?:article|story|entry|post|page|main|content|blog|news)[_-]*(?:body|content|text|main)"
    r"|articlebody|storytext|bodycopy|hentry|(?:^|[\s_-])(?:embed|prose|markdown)(?:$|[\s_-])",
    re.I,
)
# Longer attributes are judged by their beginning: the patterns above take time with each separator.
_MAX_NAMES = 300
_MAX_JUDGED = 50_000


def is_noise(names: str) -> bool:
    """Whether a class or id attribute names a surrounding of the content."""
    names = names[:_MAX_NAMES]
    if _CONTENT.search(names):
        return False
    return any(_NOISE.match(name) and not _STATE.match(name) for name in names.split())


class Judgements(dict[str, bool]):
    """Remembers `is_noise`: the names of a site's elements come again on each of its pages."""

    def __missing__(self, names: str) -> bool:
        if len(self) >= _MAX_JUDGED:
            self.clear()
        if len(names) > _MAX_NAMES:
            return self[names[:_MAX_NAMES]]
        verdict = self[names] = is_noise(names)
        return verdict
