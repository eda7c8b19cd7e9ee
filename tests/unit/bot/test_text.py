"""Nothing is hidden from a reader, and nothing goes over a limit."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seconder.bot.look_alikes import flagged, look_alike
from seconder.bot.text import chunks, cut, escape, has_rtl, hides, one_line, shorten, size, visible

ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("&<>\n\t ⟨\u202e\u200d\ufe0f🎉\u0301\ud83d"))


def test_every_character_shows_as_itself_or_as_its_name() -> None:
    wrong = [at for at in range(0x110000) if visible(chr(at)) not in (chr(at), f"⟨U+{at:04X}⟩")]

    assert wrong == []


def test_every_character_without_a_glyph_is_written_out() -> None:
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
    kept = {"\n", "\t", " "}
    shown = [
        hex(at)
        for at in range(0x110000)
        if unicodedata.category(chr(at)) in unseen and chr(at) not in kept and visible(chr(at)) == chr(at)
    ]

    assert shown == []


@pytest.mark.parametrize(
    "filler",
    [0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180F, 0x2800, 0x3164, 0xFFA0, 0xFE00, 0xFE0F, 0xE0020, 0xE0100],
)
def test_blank_letters_fillers_tags_and_variation_selectors_are_written_out(filler: int) -> None:
    assert visible(f"a{chr(filler)}b") == f"a⟨U+{filler:04X}⟩b"


def test_every_printable_ascii_character_stays() -> None:
    plain = "".join(map(chr, range(32, 127))) + "\n\t"

    assert visible(plain) == plain


@pytest.mark.parametrize(
    "text", ["👩‍👩‍👧‍👦", "👩🏽‍🚀", "❤️", "1️⃣", "🇨🇭", "🏳️‍🌈", "Zoë 山田 กมลชนก Nguyễn", "دنيا (أقواس) דנה"]
)
def test_emoji_and_ordinary_writing_stay_as_they_are(text: str) -> None:
    assert visible(text) == text


def test_a_joiner_between_letters_is_written_out() -> None:
    assert visible("pay\u200dpal") == "pay⟨U+200D⟩pal"


def test_marks_that_pile_up_or_would_land_on_our_text_are_written_out() -> None:
    assert visible("a" + "\u0301" * 6) == "a" + "\u0301" * 4 + "⟨U+0301⟩" * 2
    assert visible("\u0338x") == "⟨U+0338⟩x"


@given(ANY_TEXT)
def test_making_visible_twice_changes_nothing_more(text: str) -> None:
    assert visible(visible(text)) == visible(text)


def test_a_line_shows_newlines_tabs_and_spaces_at_its_ends() -> None:
    assert one_line("  a\nb\tc ") == "⟨2 spaces⟩a⏎b⇥c⟨1 space⟩"
    assert one_line(f"rm{' ' * 40}-rf /") == "rm⟨40 spaces⟩-rf /"


def test_only_the_three_signs_are_escaped() -> None:
    assert (
        escape("""We've "approved" 5 < 6 & 7 > 3 &amp;""") == """We've "approved" 5 &lt; 6 &amp; 7 &gt; 3 &amp;amp;"""
    )
    assert size("a<&>🎉") == len("a&lt;&amp;&gt;") + 2


@given(ANY_TEXT, st.integers(40, 300))
def test_a_shortened_text_fits_and_says_how_much_is_missing(text: str, limit: int) -> None:
    shown = shorten(text, limit)

    assert size(shown) <= limit
    assert shown == one_line(text) or " characters" in shown


def test_a_cut_counts_the_characters_that_are_not_shown() -> None:
    assert shorten("x" * 1340, 124, ": View all") == "x" * 94 + "… + 1,246 characters: View all"


def test_a_cut_does_not_halve_a_character() -> None:
    assert cut("ab" + "e\u0301" * 3, 3).shown == "ab"
    assert cut("a👩‍🚀", 3).shown == "a"


@given(ANY_TEXT, st.integers(20, 400))
def test_chunks_fit_and_join_up_to_the_text(text: str, limit: int) -> None:
    shown = visible(text)
    parts = list(chunks(shown, limit))

    assert "".join(parts) == shown
    assert all(0 < size(part) <= limit for part in parts)


def test_chunks_do_not_cut_a_written_out_character() -> None:
    parts = list(chunks(visible("\u202e" * 50), 25))

    assert set(parts) == {"⟨U+202E⟩⟨U+202E⟩⟨U+202E⟩", "⟨U+202E⟩⟨U+202E⟩"}


def test_unseen_characters_and_right_to_left_letters_are_told_apart() -> None:
    assert hides("invoice_\u202efdp.exe")
    assert not hides("דנה לוי")
    assert has_rtl("דנה לוי")
    assert not has_rtl("Zoë")


@pytest.mark.parametrize(
    "text",
    ["pаypal", "аррӏе.com", "https://раураl.com/x", "mаil@example.test", "𝒜da", "ﬁle", "xn--80ak6aa92e.com", "αpple"],
)
def test_look_alike_letters_are_flagged(text: str) -> None:
    assert flagged(text) == f"{text} (⚠ look-alike letters)"


@pytest.mark.parametrize(
    "text",
    ["paypal.com", "яндекс.ru", "москва.рф", "SMS-рассылка", "5 kΩ", "10 µs", "İpek Işık", "数字1.jp", "Привет", "m²"],
)
def test_honest_writing_is_not_flagged(text: str) -> None:
    assert not look_alike(text)
