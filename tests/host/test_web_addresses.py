"""What may be opened, where it leads, and what is odd about it."""

from __future__ import annotations

import pytest

from agent.host.web_addresses import LONGEST, Address, UnsafeAddress, read_address

CLEAR = "It is not encrypted (http): others on the way can read and change it."


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/auth?x=1", "example.com"),
        ("HTTPS://Example.COM./a", "example.com"),
        ("https://accounts.google.com/o/oauth2", "accounts.google.com"),
        ("https://google.co.uk", "google.co.uk"),
        ("https://github.com:443/login", "github.com"),
        ("https://fra1.example.org/?next=https://paypal.com", "fra1.example.org"),
    ],
)
def test_an_ordinary_address_is_not_warned_of(url: str, host: str) -> None:
    assert read_address(url) == Address(url, host)


@pytest.mark.parametrize(
    ("url", "host", "warnings"),
    [
        ("http://example.com", "example.com", (CLEAR,)),
        ("https://google.com@evil.example/x", "evil.example",
         ("What stands before the @ is not the host, and may be there to deceive.",)),
        ("https://192.0.2.7/", "192.0.2.7",
         ("It has a number in place of a name, so there is no saying whose it is.",)),
        ("https://3221225985/", "3221225985",
         ("It has a number in place of a name, so there is no saying whose it is.",)),
        ("https://example.com:8443/", "example.com", ("It uses an unusual port, 8443.",)),
        ("https://例え.jp/", "xn--r8jz45g.jp",
         ("Its name has letters beyond A to Z: 例え.jp is really xn--r8jz45g.jp.",)),
        ("https://xn--pypal-4ve.com", "xn--pypal-4ve.com", (
            "Its name has letters beyond A to Z: pаypal.com is really xn--pypal-4ve.com.",
            "Its name mixes letters of several scripts, which is how one name is made to look like another.",
            "Its name looks like paypal, and is not: it is pаypal.com.",
        )),
        ("https://аррӏе.com", "xn--80ak6aa92e.com", (
            "Its name has letters beyond A to Z: аррӏе.com is really xn--80ak6aa92e.com.",
            "Its name looks like apple, and is not: it is аррӏе.com.",
        )),
        ("https://rnicrosoft.com", "rnicrosoft.com",
         ("Its name looks like microsoft, and is not: it is rnicrosoft.com.",)),
        ("https://g00gle.com", "g00gle.com", ("Its name looks like google, and is not: it is g00gle.com.",)),
        ("https://goo-gle.com", "goo-gle.com", ("Its name looks like google, and is not: it is goo-gle.com.",)),
        ("https://github.com.evil.example/", "github.com.evil.example",
         ("It has github in its name, but belongs to evil.example.",)),
        ("https://paypal.com.evil.example.org/login", "paypal.com.evil.example.org",
         ("It has paypal in its name, but belongs to example.org.",)),
        ("https://paypal.evil.co.uk/", "paypal.evil.co.uk", ("It has paypal in its name, but belongs to evil.co.uk.",)),
        ("https://paypal.evil.com.au/", "paypal.evil.com.au",
         ("It has paypal in its name, but belongs to evil.com.au.",)),
        ("https://paypal.github.io/", "paypal.github.io", (
            "It stands on github.io, where anybody can have a page under any name.",
            "It has paypal in its name, but belongs to paypal.github.io.",
        )),
        ("https://login-paypal.com/", "login-paypal.com",
         ("It has paypal in its name, but belongs to login-paypal.com.",)),
    ],
)  # fmt: skip
def test_what_may_deceive_is_said(url: str, host: str, warnings: tuple[str, ...]) -> None:
    read = read_address(url)
    assert (read.url, read.host, read.warnings) == (url, host, warnings)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:4711/link", "127.0.0.1:4711"),
        ("http://localhost:8080", "localhost:8080"),
        ("http://[::1]:1/", "[::1]:1"),
        ("http://localhost/", "localhost"),
    ],
)
def test_a_page_of_this_machine_is_said_to_be_one_and_its_port_says_whose(url: str, place: str) -> None:
    read = read_address(url)
    assert (read.place, read.warnings) == (place, ("It leads to this machine: a program that runs here answers.",))


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://example.com:443/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("https://example.com:8443/", "example.com:8443"),
    ],
)
def test_an_unusual_port_is_part_of_where_it_leads(url: str, place: str) -> None:
    assert read_address(url).place == place


def test_a_name_that_cannot_be_decoded_is_shown_as_it_is() -> None:
    assert read_address("https://xn--a.com/").warnings == ()


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("javascript:alert(1)", "begins with 'javascript', and only http and https are opened"),
        ("file:///etc/passwd", "begins with 'file', and only http and https are opened"),
        ("data:text/html,x", "begins with 'data', and only http and https are opened"),
        ("example.com", "begins with 'nothing', and only http and https are opened"),
        ("https:///path", "names no host"),
        ("https://[bad", "cannot be read"),
        ("https://example.com:99999/", "cannot be read"),
        ("https://example.com/\x1b[2J", "holds characters that no web address has"),
        ("https://example.com/a b", "holds characters that no web address has"),
        ("https://example.com\\@evil.example", "holds characters that no web address has"),
        ("https://example.com/\u202egpj", "holds characters that no web address has"),
        ("https://example.com/" + "a" * LONGEST, "is longer than 16,000 characters"),
    ],
)
def test_what_is_no_web_page_is_never_opened(url: str, fault: str) -> None:
    with pytest.raises(UnsafeAddress) as unsafe:
        read_address(url)
    assert str(unsafe.value) == fault
