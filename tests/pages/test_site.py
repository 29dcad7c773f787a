"""Sign-in, overview, themes, menu and formulas."""

import itertools
import re

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.test import Client
from django.utils.html import strip_tags
from playwright.sync_api import Browser, Page, expect
from pytest_django.fixtures import DjangoAssertNumQueries
from pytest_django.live_server_helper import LiveServer

from memories.contracts.new_memory import NewMemory
from memories.models import JudgedQuery, JudgementSet, Membership, Namespace, Profile, ProfileVersion, Publication
from memories.writing.remember import remember
from scoring.catalogue import SOURCES
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS
from tests.support.sign_in import sign_in

pytestmark = pytest.mark.django_db


def test_a_visitor_signs_in_and_arrives_in_the_namespace(page: Page, home: Namespace) -> None:
    sign_in(page)
    expect(page).to_have_url(re.compile("/home/$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("Maya at home")
    expect(page.get_by_text("There are no memories yet.")).to_be_visible()
    page.get_by_role("button", name="Sign out").first.click()
    expect(page).to_have_url(re.compile("/sign-in/"))


def test_a_wrong_password_is_answered_in_words_and_the_name_stays(page: Page, maya: User) -> None:
    page.goto("/sign-in/")
    page.get_by_label("Name").fill("maya")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("do not match")
    expect(page.get_by_label("Name")).to_have_value("maya")


def test_the_namespace_switch_leads_to_another_namespace(page: Page, maya: User, home: Namespace) -> None:
    other = Namespace.objects.create(slug="office", title="Maya at work")
    Membership.objects.create(user=maya, namespace=other)
    sign_in(page)
    page.locator(".switch summary").click()
    page.get_by_role("link", name="office").click()
    expect(page).to_have_url(re.compile("/office/$"))
    page.get_by_role("link", name="Formulas").first.click()
    expect(page.locator(".switch summary b")).to_have_text("office")


def test_the_theme_is_switched_at_once_and_remembered(page: Page) -> None:
    page.goto("/formulas/")
    light = background(page)
    page.get_by_role("button", name="Dark").first.click()
    assert background(page) != light
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.get_by_role("button", name="System").first.click()
    assert background(page) == light


def background(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_theme_can_be_chosen_without_script(browser: Browser, live_server: LiveServer) -> None:
    context = browser.new_context(base_url=live_server.url, java_script_enabled=False)
    page = context.new_page()
    page.goto("/formulas/recall/")
    page.get_by_role("button", name="Dark").first.click()
    expect(page).to_have_url(re.compile("/formulas/recall/$"))
    assert page.locator("html").get_attribute("data-theme") == "dark"
    context.close()


@pytest.mark.parametrize("width", [380, 768, 1024, 1440])
def test_the_pages_fit_every_width(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for address in ("/formulas/", "/formulas/recall/", "/formulas/write-policy/", "/sign-in/"):
        page.goto(address)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, address


def test_the_keyboard_reaches_the_content_past_the_menu(page: Page) -> None:
    page.goto("/formulas/")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_menu_of_a_narrow_screen_opens_and_closes(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto("/formulas/")
    page.get_by_text("Menu").click()
    expect(page.locator(".menu").get_by_role("link", name="API docs")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".menu").get_by_role("link", name="API docs")).to_be_hidden()
    expect(page.locator(".menu summary")).to_be_focused()


def test_a_formula_is_typeset_beside_the_papers_figure_and_the_computed_one(page: Page) -> None:
    page.goto("/formulas/recall/#repetition-boost")
    panel = page.locator("#repetition-boost")
    assert panel.locator("math mfrac").first.bounding_box()["height"] > 20  # type: ignore[index]
    row = panel.get_by_role("row", name=re.compile(r"^r\(1\)"))
    expect(row).to_contain_text("0.307")
    expect(row).to_contain_text(".4094")
    expect(row).to_contain_text("erratum")
    expect(panel.get_by_role("row", name=re.compile(r"^r\(3\)"))).to_contain_text("reproduced")


def test_a_constant_leads_to_its_declaration(page: Page) -> None:
    page.goto("/formulas/recall/")
    page.locator("#reciprocal-rank-fusion").get_by_role("link", name="rrf_k").click()
    expect(page.locator("#param-rrf_k")).to_contain_text("10 to 200")
    page.locator("#confidence").get_by_role("link", name="weight_source").click()
    expect(page).to_have_url(re.compile("/formulas/write-policy/#param-weight_source"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.system)
def test_every_formula_and_every_parameter_of_a_system_is_on_its_page(client: Client, source) -> None:  # type: ignore[no-untyped-def]
    text = client.get(f"/formulas/{source.system}/").content.decode()
    for formula in source.formulas:
        assert f'id="{formula.slug}"' in text
    for name in SYSTEMS[source.system].params.declarations():
        assert f'id="param-{name}"' in text
    assert text.count("<math ") == len(source.formulas)
    assert "style=" not in text


def test_every_parameter_of_the_write_policy_is_on_its_page(client: Client) -> None:
    text = client.get("/formulas/write-policy/").content.decode()
    assert all(f'id="param-{name}"' in text for name in WritePolicyParams.declarations())


def test_the_index_shows_every_erratum(client: Client) -> None:
    text = client.get("/formulas/").content.decode()
    errata = sum(formula.errata for source in SOURCES for formula in source.formulas)
    assert text.count("<s>") == errata >= 13


def test_an_unknown_system_is_a_page_not_found_that_names_the_known_ones(client: Client) -> None:
    answer = client.get("/formulas/nonsense/")
    assert answer.status_code == 404
    assert "memorysync" in answer.content.decode()


def test_a_visitor_who_is_not_signed_in_is_led_to_the_door_and_back(client: Client, home: Namespace) -> None:
    answer = client.get("/home/")
    assert answer.status_code == 302
    assert answer["Location"] == "/sign-in/?next=/home/"


def test_a_foreign_namespace_looks_as_if_it_did_not_exist(client: Client, home: Namespace) -> None:
    client.force_login(User.objects.create_user("stranger"))
    foreign, missing = client.get("/home/"), client.get("/hume/")
    assert foreign.status_code == missing.status_code == 404
    assert words(foreign).replace("home", "hume") == words(missing)


def words(answer: HttpResponse) -> str:
    """A page without the id of its request."""
    return re.sub(r"<code>\w+</code>", "", answer.content.decode())


def test_a_user_without_a_namespace_is_told_what_to_do(client: Client, maya: User) -> None:
    client.force_login(maya)
    assert "create_namespace SLUG --member maya" in client.get("/").content.decode()


def test_a_page_runs_a_known_number_of_sql_queries(
    client: Client, maya: User, home: Namespace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(maya)
    client.get("/home/")
    with django_assert_num_queries(3):  # session, user, namespaces
        client.get("/formulas/recall/")
    # Those, membership, six tables counted, examples, what is served, the last call; seven for the first steps.
    with django_assert_num_queries(20):
        client.get("/home/")


def test_the_overview_asks_in_the_lab_and_leads_to_what_it_counts(
    page: Page, home: Namespace, client: Client, maya: User
) -> None:
    remember(home, [NewMemory(content="Maya bakes with an Ooni oven.")], by="test")
    asked = JudgementSet.objects.create(namespace=home, name="asked")
    JudgedQuery.objects.create(namespace=home, judgement_set_id=asked.id, text="Which pan & which oven?")
    sign_in(page)
    expect(page.get_by_role("link", name="Which pan & which oven?")).to_have_attribute(
        "href", "/home/lab/?query=Which%20pan%20%26%20which%20oven%3F"
    )
    page.wait_for_load_state()  # keys are heard from then on
    page.keyboard.press("/")
    page.keyboard.type("Which oven has Maya?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Lab", timeout=30_000)  # the model is read first
    expect(page.get_by_text("Maya bakes with an Ooni oven.").first).to_be_visible()
    client.force_login(maya)
    overview = client.get("/home/").content.decode()
    for address in re.findall(r'<d[td][^>]*><a href="([^"]*)"', overview):
        assert client.get(address).status_code == 200, address


def test_the_overview_says_what_the_served_configuration_reads(client: Client, maya: User, home: Namespace) -> None:
    remember(home, [NewMemory(content="Maya plays the cello")], by="tests")
    client.force_login(maya)

    def rows() -> tuple[str, dict[str, str]]:
        page = client.get("/home/").content.decode()
        section = page[page.index('id="reads-h"') :]
        table = section[section.index("<tbody>") : section.index("</tbody>")]
        cells = [[" ".join(strip_tags(cell).split()) for cell in row.split("</td>")] for row in table.split("</tr>")]
        intro = " ".join(strip_tags(section[: section.index("<table")]).split())
        return intro, {row[0]: row[3] for row in cells if len(row) > 3}

    intro, effects = rows()
    assert "served: blend defaults" in intro
    assert "asks semantic, BM25, entity graph, temporal; not asked at weight 0: graph traversal, context." in intro
    assert (effects["belief"], effects["importance"]) == ("× .90 to 1.10", "not read")
    assert effects["hours left"] == "filters"
    profile = Profile.objects.create(namespace=home, name="careful")
    version = ProfileVersion(
        namespace=home, profile=profile, number=1, system="blend", params={"belief": 0.0, "weight_traversal": 0.1}
    )
    version.save()
    Publication(namespace=home, profile_version=version).save()
    intro, effects = rows()
    assert "served: careful@1" in intro
    assert "temporal, graph traversal; not asked at weight 0: context." in intro
    assert effects["belief"] == "not read"


def test_the_overview_opens_although_the_published_profile_breaks_a_bound(
    client: Client, maya: User, home: Namespace
) -> None:
    remember(home, [NewMemory(content="Maya plays the cello")], by="tests")
    profile = Profile.objects.create(namespace=home, name="older")
    version = ProfileVersion(namespace=home, profile=profile, number=1, system="blend", params={"belief": 7.0})
    version.save()
    Publication(namespace=home, profile_version=version).save()
    client.force_login(maya)
    page = client.get("/home/").content.decode()
    assert "This profile cannot rank: belief must be a number from 0 to 1; got 7.0." in page


def test_an_empty_overview_leads_to_a_key(client: Client, maya: User, home: Namespace) -> None:
    client.force_login(maya)
    assert '<a class="btn" href="/home/keys/">Create a key</a>' in client.get("/home/").content.decode()


@pytest.mark.parametrize("back", ["https://elsewhere.example/", "//elsewhere.example/", "javascript:alert(1)", ""])
def test_choosing_a_theme_never_leads_away(client: Client, back: str) -> None:
    answer = client.post("/theme/", {"theme": "dark", "next": back})
    assert answer["Location"] == "/"
    assert answer.cookies["theme"].value == "dark"


def test_whoever_only_looks_at_the_theme_is_sent_on(client: Client) -> None:
    assert client.get("/theme/").status_code == 302


def test_an_error_page_wears_the_chosen_theme(client: Client) -> None:
    client.cookies["theme"] = "dark"
    assert 'data-theme="dark"' in client.get("/formulas/nonsense/").content.decode()


def test_an_unknown_theme_is_not_kept(client: Client) -> None:
    assert "theme" not in client.post("/theme/", {"theme": "<b>", "next": "/formulas/"}).cookies


@pytest.mark.parametrize("slug", ["formulas", "api", "systems", "docs", "sign-in", "static", "health", "admin"])
def test_a_namespace_cannot_take_a_word_of_the_sites_own_addresses(slug: str) -> None:
    with pytest.raises(ValidationError, match="must not be a word of the site's own URLs"):
        Namespace(slug=slug, title="x").full_clean()


def test_headings_follow_each_other_and_every_table_has_a_name(client: Client) -> None:
    for address in ("/formulas/", "/formulas/recall/", "/formulas/write-policy/"):
        text = client.get(address).content.decode()
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", text)]
        assert levels[0] == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
        assert all("aria-label" in table for table in re.findall(r"<table[^>]*>", text))
        assert all("scope=" in cell for cell in re.findall(r"<th[ >][^>]*>?", text))
