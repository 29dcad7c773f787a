"""Signing in, in a browser."""

from playwright.sync_api import Page


def sign_in(page: Page) -> None:
    page.goto("/")
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("tall-ships-7")
    page.get_by_role("button", name="Sign in").click()
