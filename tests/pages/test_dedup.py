"""The Dedup page: thresholds that move, pairs side by side, verdicts, policy drafts."""

import json
import math
import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import DjangoAssertNumQueries

from memories.contracts.new_memory import NewMemory
from memories.models import Membership, Memory, MemoryVector, Namespace, NamespaceStatistics, Publication, ReviewItem
from memories.models import WritePolicyVersion as Version
from memories.models.choices import Role, Status
from memories.pages.dedup import neighbour_pairs, pair_list, pair_survey
from memories.pages.dedup.charts import cosine_bins
from memories.pages.dedup.word_diff import word_diff
from memories.tuning.policy_versions import add_policy_version, publish_policy
from memories.writing.feedback import forget_memory
from memories.writing.lock import lock_namespace
from memories.writing.merge import split_memory
from memories.writing.neighbours import COSINE_DECIMALS
from memories.writing.remember import remember
from memories.writing.write_policy import current_write_policy
from tests.support.rows import row
from tests.support.vector_indexes import index_vectors

pytestmark = pytest.mark.django_db

# Pairs at exact cosines: one would be merged, one is kept apart, two are judged, one is far.
PAIRS = {
    0.95: ("Maya drinks her coffee black", "Maya really drinks her coffee black"),
    0.97: ("The lease ends on 3 March", "The lease ends on 5 March"),
    0.90: ("Plays the cello", "Plays the cello indeed"),
    0.86: ("Reads at night", "Reads books at night"),
    0.60: ("Lives in Umeå", "Has a garden"),
}
DIMENSIONS = 384
COFFEE = "Maya drinks her coffee black", "Maya takes her coffee black, without sugar"  # at .901


def world(slug: str) -> Namespace:
    """A namespace of five pairs, each in a plane of its own."""
    namespace = Namespace.objects.create(slug=slug, title=slug)
    for plane, (cosine, texts) in enumerate(PAIRS.items()):
        for text, (x, y) in zip(texts, ((1.0, 0.0), (cosine, math.sqrt(1 - cosine**2))), strict=True):
            vector = np.zeros(DIMENSIONS)
            vector[2 * plane : 2 * plane + 2] = x, y
            memory = row(Memory, namespace, content=text)
            row(MemoryVector, namespace, memory=memory, vector=vector, embedder=namespace.embedder)
    NamespaceStatistics.objects.create(namespace=namespace, documents=2 * len(PAIRS))
    return namespace


def member(client: Client, namespace: Namespace, role: Role) -> User:
    """Sign a member in."""
    user = User.objects.create_user(f"ada who may {role}", password="a long password")
    Membership.objects.create(namespace=namespace, user=user, role=role)
    client.force_login(user)
    return user


@pytest.fixture
def namespace(client: Client) -> Namespace:
    """The pairs, and an admin of theirs signed in."""
    namespace = world("here")
    member(client, namespace, Role.ADMIN)
    return namespace


@pytest.fixture
def waiting(client: Client) -> ReviewItem:
    """A pair that was really written and waits for a person, and an admin signed in."""
    namespace = Namespace.objects.create(slug="here", title="Here")
    member(client, namespace, Role.ADMIN)
    for session, content in zip("ab", COFFEE, strict=True):
        remember(namespace, [NewMemory(content=content, session=session)], by="test")
    return ReviewItem.objects.get()


def get_page(client: Client, **asked: str) -> str:
    """The page at an address, in one line."""
    response = client.get("/here/dedup/", asked)
    assert response.status_code == 200
    return collapse(response)


def collapse(response: Any) -> str:
    """What a page says, its white space folded."""
    assert isinstance(response, HttpResponse)
    return " ".join(response.content.decode().split())


def figure(client: Client, **asked: str) -> Any:
    """The histogram."""
    page = client.get("/here/dedup/", asked).content.decode()
    (told,) = re.findall(r'<script id="fig-dedup" type="application/json">(.*?)</script>', page, re.DOTALL)
    return json.loads(told)


def heading(page: str, id: str) -> str:
    """What a panel's head says."""
    (told,) = re.findall(rf'<h2 id="{id}">(.*?)</h2>', page)
    return str(told)


def decide(client: Client, item: ReviewItem, verdict: str, **how: Any) -> Any:
    """Press a button of the queue."""
    return client.post(f"/here/dedup/reviews/{item.id}/", {"verdict": verdict, "here": "band=escalate"}, **how)


def test_nearest_pairs_are_those_of_a_comparison_of_each_with_each(namespace: Namespace) -> None:
    random = np.random.default_rng(7)
    for _ in range(40):
        vector = random.normal(size=DIMENSIONS)
        memory = row(Memory, namespace)
        row(MemoryVector, namespace, memory=memory, vector=vector / np.linalg.norm(vector), embedder=namespace.embedder)
    stored = {one.memory_id: np.asarray(one.vector, dtype=float) for one in MemoryVector.objects.within(namespace)}
    expected = set()
    for one in stored:
        cosine, other = max((float(stored[one] @ stored[two]), two) for two in stored if two != one)
        expected.add((*sorted((one, other)), round(cosine, 5)))
    found = neighbour_pairs.compare_memories(namespace)
    assert {(pair.first, pair.second, round(pair.cosine, 5)) for pair in found.pairs} == expected
    assert (found.memories, found.compared) == (50, 50)


def test_pairs_are_counted_by_band_and_those_that_contradict_are_kept_apart(
    client: Client, namespace: Namespace
) -> None:
    page = get_page(client)
    assert heading(page, "bands-h") == "1 pair would be merged, 2 judged"
    assert "Each of 10 memories and its nearest neighbour: 5 pairs." in page
    assert "1 would be merged, 1 kept apart" in page
    assert "kept apart: another number" in page
    assert "more would be" not in page


def test_a_lower_threshold_tells_how_many_more_would_be_merged(client: Client, namespace: Namespace) -> None:
    page = get_page(client, **{"p.dedup_duplicate": "0.89"})
    assert heading(page, "bands-h") == "2 pairs would be merged, 1 judged"
    assert "▲ 1 more would be merged" in page
    assert "▼ 1 fewer would be judged" in page
    higher = get_page(client, **{"p.dedup_duplicate": "0.98"})
    assert heading(higher, "bands-h") == "Nothing would be merged, 3 judged"
    assert "▼ 1 fewer would be merged" in higher


def test_the_histogram_holds_each_pair_once_and_names_its_lines(client: Client, namespace: Namespace) -> None:
    drawn = figure(client, **{"p.dedup_duplicate": "0.89"})
    counts = [sum(trace["y"]) for trace in drawn["data"]]
    assert counts == [1, 1, 3]  # distinct, escalate, duplicate
    lines = {shape.get("name", "served"): shape["x0"] for shape in drawn["layout"]["shapes"]}
    assert lines == {"dedup_duplicate": 0.89, "dedup_escalate": 0.85, "served": 0.92}
    names = [note["text"] for note in drawn["layout"]["annotations"]]
    assert [name.rstrip(" ⇔") for name in names] == ["restatements merged above .89", "judged from .85"]


def test_a_bar_ends_where_merging_begins() -> None:
    assert [(one.low, one.high, one.pairs) for one in cosine_bins([0.92, 0.9201, 0.93, 1.0], 0.01)] == [
        (0.91, 0.92, 1),
        (0.92, 0.93, 2),
        (0.99, 1.0, 1),
    ]


def test_words_that_one_of_two_has_to_itself_are_marked(client: Client, namespace: Namespace) -> None:
    page = get_page(client)
    assert "The lease ends on <del>3</del> March" in page
    assert "The lease ends on <ins>5</ins> March" in page
    assert ".970" in page
    for memory in Memory.objects.within(namespace).filter(content__startswith="The lease"):
        assert f'href="/here/memories/{memory.id}/"' in page


def test_marked_pieces_add_up_to_the_texts() -> None:
    one, other = "Karin is Maya's mother, and lives in Umeå", "Karin: Maya’s mother in Umeå; 71 years"
    for text, pieces in zip((one, other), word_diff(one, other), strict=True):
        assert " ".join(piece.text for piece in pieces) == text


def test_a_memory_cannot_write_markup_into_the_page(client: Client, namespace: Namespace) -> None:
    Memory.objects.within(namespace).filter(content__startswith="The lease").update(content="<script>x</script>")
    assert "<script>x" not in get_page(client)


def test_pairs_are_paged_by_the_pair_they_come_after(
    client: Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_list, "PAGE_SIZE", 1)
    first = get_page(client, band="escalate")
    assert "Plays the cello <ins>indeed</ins>" in first
    (after,) = re.findall(r'href="\?[^"]*after=([^"]+)"', first)
    second = get_page(client, band="escalate", after=after.replace("%7E", "~"))
    assert "Reads <ins>books</ins> at night" in second
    assert "<ins>indeed</ins>" not in second
    assert heading(second, "pairs-h").startswith("2 to 2 of the escalate pairs")
    assert "Back to the nearest" in second
    assert ">Next<" not in second


def test_what_is_known_is_held_until_something_is_written(
    client: Client, namespace: Namespace, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(20):
        get_page(client)
    with django_assert_max_num_queries(16) as asked:
        get_page(client, **{"p.dedup_duplicate": "0.9"})
    assert not any("memories_memoryvector" in query["sql"] for query in asked.captured_queries)
    lock_namespace(namespace)
    with django_assert_max_num_queries(20) as again:
        get_page(client)
    assert any("memories_memoryvector" in query["sql"] for query in again.captured_queries)


def test_of_many_memories_a_sample_is_compared_after_the_page_has_come(
    client: Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_survey, "MAX_IMMEDIATE", 5)
    monkeypatch.setattr(neighbour_pairs, "MAX_EXACT", 5)
    monkeypatch.setattr(neighbour_pairs, "SAMPLE_SIZE", 4)
    page = get_page(client)
    assert 'hx-get="/here/dedup/?compare&amp;" hx-trigger="load"' in page
    assert "fig-dedup" not in page
    told = get_page(client, compare="")
    assert "A sample: 4 of 10 memories, each against all others," in told
    lock_namespace(namespace)
    assert "A sample: 4 of 10" in get_page(client)  # and is good for some minutes
    monkeypatch.setattr(pair_survey, "SAMPLE_MAX_AGE", timedelta(0))
    assert "A sample: 4 of 10" not in get_page(client)


def test_what_was_forgotten_since_the_sample_is_not_shown(
    client: Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbour_pairs, "MAX_EXACT", 5)
    monkeypatch.setattr(neighbour_pairs, "SAMPLE_SIZE", 9)
    assert "The lease ends on" in get_page(client)
    forget_memory(namespace, Memory.objects.get(content="The lease ends on 5 March").id, by="test")
    page = get_page(client)
    assert "A sample: 9 of 10" in page
    assert "The lease ends on" not in page


@pytest.mark.parametrize("has_index", [True, False])
def test_a_sample_of_very_many_is_looked_up_in_the_database(
    namespace: Namespace, monkeypatch: pytest.MonkeyPatch, has_index: bool
) -> None:
    exact = {pair[:2]: pair.cosine for pair in neighbour_pairs.compare_memories(namespace).pairs}
    monkeypatch.setattr(neighbour_pairs, "SCAN_BELOW", 5)
    if has_index:
        index_vectors(namespace)
    found = neighbour_pairs.compare_memories(namespace)
    assert found.method == ("index" if has_index else "exact")
    assert (found.memories, found.compared) == (10, 10)
    assert {pair[:2]: pair.cosine for pair in found.pairs} == pytest.approx(exact, abs=1e-3)
    assert all(round(pair.cosine, COSINE_DECIMALS) == pair.cosine for pair in found.pairs)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"p.dedup_duplicate": "2"}, "must be a number from 0.85 to 0.98 cosine; got 2.0"),
        ({"p.dedup_duplicate": "near"}, "must be a number from 0.85 to 0.98 cosine; got &#x27;near&#x27;"),
        ({"p.near": "1"}, "is not a parameter here"),
        ({"band": "near"}, "must be one of duplicate, escalate, distinct; got &#x27;near&#x27;"),
        ({"after": "1~2~3"}, "must be a pair from “Next”; got &#x27;1~2~3&#x27;"),
        ({"cursor": "x"}, "must be a cursor from"),
    ],
)
def test_what_cannot_be_used_is_reported_and_stays_as_typed(
    client: Client, namespace: Namespace, asked: dict[str, str], told: str
) -> None:
    page = get_page(client, **asked)
    assert told in page
    assert heading(page, "bands-h") == "1 pair would be merged, 2 judged"
    for name in ("p.dedup_duplicate", "p.dedup_escalate"):
        if name in asked:
            assert re.search(rf'name="{name}"[^>]* value="{asked[name]}"', page)


def test_a_wrong_threshold_leaves_the_other_where_it_was_moved(client: Client, namespace: Namespace) -> None:
    for wrong, told in (("2", "must be a number from"), ("0.9", "must not exceed dedup_duplicate")):
        page = get_page(client, **{"p.dedup_duplicate": "0.86", "p.dedup_escalate": wrong})
        assert told in page
        assert re.search(rf'name="p.dedup_escalate"[^>]* value="{wrong}"', page)
        assert heading(page, "bands-h") == "2 pairs would be merged, 1 judged"


def test_an_empty_namespace_says_what_to_do(client: Client) -> None:
    member(client, Namespace.objects.create(slug="here", title="Here"), Role.READ)
    page = get_page(client)
    assert heading(page, "bands-h") == "Nothing to compare yet"
    assert heading(page, "queue-h") == "No pair to review"
    assert heading(page, "errors-h") == "No pair was judged here yet"


def test_thresholds_tuned_for_another_embedder_are_pointed_out(client: Client, namespace: Namespace) -> None:
    assert "These thresholds were set for" not in get_page(client)
    Namespace.objects.filter(id=namespace.id).update(embedder="wordllama-256")
    page = get_page(client)
    assert "These thresholds were set for" not in page
    assert re.search(r'name="p.dedup_duplicate"[^>]* value="0.9"', page)
    version = add_policy_version(namespace, name="default", params={"dedup_duplicate": 0.95}, note="", by="tests")
    publish_policy(namespace, version.id, note="", by="tests")
    assert "These thresholds were set for the cosines of <b>all-MiniLM-L6-v2</b>" in get_page(client)


def test_htmx_gets_the_part_that_changes_and_an_address_that_tells_what_differs(
    client: Client, namespace: Namespace
) -> None:
    asked = {"p.dedup_duplicate": "0.9", "p.dedup_escalate": "0.85", "band": "duplicate"}
    response = client.get("/here/dedup/", asked, headers={"HX-Request": "true"})
    assert response.content.decode().lstrip().startswith('<div class="stack" id="shown"')
    assert response["HX-Replace-Url"] == "/here/dedup/?p.dedup_duplicate=0.9"


def test_another_namespace_is_neither_shown_nor_compared(client: Client, namespace: Namespace) -> None:
    world("there")
    assert "Each of 10 memories" in get_page(client)
    assert client.get("/there/dedup/").status_code == 404


@pytest.mark.parametrize(("verdict", "status"), [("duplicate", Status.MERGED), ("distinct", Status.ACTIVE)])
def test_a_pair_of_the_queue_is_decided_without_script(
    client: Client, waiting: ReviewItem, verdict: str, status: Status
) -> None:
    page = get_page(client)
    assert heading(page, "queue-h") == "1 pair to review"
    response = decide(client, waiting, verdict)
    assert response["Location"] == "/here/dedup/?band=escalate#queue"
    assert Memory.objects.get(id=waiting.second_id).status == status
    assert ReviewItem.objects.get().state == verdict
    assert heading(get_page(client), "queue-h") == "No pair to review"


def test_htmx_gets_the_page_as_it_is_after_a_verdict(client: Client, waiting: ReviewItem) -> None:
    response = decide(client, waiting, "duplicate", headers={"HX-Request": "true"})
    page = collapse(response)
    assert "Merged: one absorbed the other" in page
    assert heading(page, "bands-h") == "Nothing to compare yet"
    assert heading(page, "errors-h").startswith(
        "At .92, the cosine alone would merge 0 of 0 distinct pairs and miss 1 of 1 duplicate"
    )
    assert response["HX-Replace-Url"].startswith("/here/dedup/")


def test_a_pair_is_decided_once(client: Client, waiting: ReviewItem) -> None:
    decide(client, waiting, "distinct")
    response = decide(client, waiting, "duplicate")
    assert response.status_code == 409
    assert "was decided as distinct" in collapse(response)
    assert decide(client, waiting, "perhaps").status_code == 400
    assert Memory.objects.get(id=waiting.second_id).status == Status.ACTIVE


def test_who_may_read_sees_the_queue_without_buttons(client: Client, waiting: ReviewItem) -> None:
    member(client, Namespace.objects.get(), Role.READ)
    page = get_page(client)
    assert "Different: keep both" not in page
    assert "Deciding needs the role write" in page
    assert decide(client, waiting, "distinct").status_code == 403
    assert ReviewItem.objects.get().state == "pending"


def test_a_pair_of_another_namespace_does_not_exist(client: Client, waiting: ReviewItem) -> None:
    foreign = row(ReviewItem, Namespace.objects.create(slug="there", title="There"))
    assert decide(client, foreign, "distinct").status_code == 404


def test_the_errors_are_those_of_the_judged_pairs(client: Client, namespace: Namespace) -> None:
    verdicts = [
        (0.99, "duplicate"),
        (0.91, "duplicate"),
        (0.87, "duplicate"),
        (0.93, "distinct"),
        (0.86, "contradiction"),
    ]
    for cosine, state in verdicts:
        row(ReviewItem, namespace, cosine=cosine, state=state, decided_at=timezone.now())
    row(ReviewItem, namespace, cosine=0.99)  # nobody has judged it
    page = get_page(client, **{"p.dedup_duplicate": "0.89"})
    rows = {
        cells[0]: cells[1:]
        for line in re.findall(r"<tr[^>]*>\s*<th scope=\"row\".*?</tr>", page)
        if (cells := [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[dh].*?</t[dh]>", line)])
    }
    assert rows[".85"] == ["12 %", "1 %", "13 %", "100.0 % 2 of 2", ".0 % 0 of 3", "100.0 %"]
    assert rows[".92"] == ["2 %", "5 %", "7 %", "50.0 % 1 of 2", "66.7 % 2 of 3", "116.7 %"]
    assert rows[".95"][:3] == [".5 %", "18 %", "18.5 %"]
    assert rows[".89 is the current value"] == ["not in the paper", "50.0 % 1 of 2", "33.3 % 1 of 3", "83.3 %"]
    assert "5 judged pairs: 3 duplicate, 2 distinct" in page


def test_pairs_are_sampled_from_all_cosines_but_not_those_that_no_threshold_decides(
    client: Client, namespace: Namespace
) -> None:
    for _ in range(2):  # what is drawn is not drawn again
        assert client.post("/here/dedup/sample/")["Location"] == "/here/dedup/#queue"
    drawn = ReviewItem.objects.within(namespace).order_by("-cosine")
    assert [round(one.cosine, 2) for one in drawn] == [0.95, 0.90, 0.86]
    page = client.get("/here/dedup/").content.decode()
    assert "3 pairs to review" in page
    Membership.objects.filter(namespace=namespace).update(role=Role.READ)
    assert client.post("/here/dedup/sample/").status_code == 403


def test_a_merge_that_was_split_counts_as_a_false_one(client: Client, waiting: ReviewItem) -> None:
    decide(client, waiting, "duplicate")
    split_memory(Namespace.objects.get(), waiting.second_id, by="test")
    page = get_page(client, **{"p.dedup_duplicate": "0.88"})
    assert heading(page, "errors-h").startswith("At .88, the cosine alone would merge 1 of 1 distinct pair")


def test_moved_thresholds_are_kept_as_a_draft_and_decide_when_published(client: Client, namespace: Namespace) -> None:
    assert "Save as a draft" not in get_page(client)
    assert "Save as a draft" in get_page(client, **{"p.dedup_duplicate": "0.9"})
    response = client.post("/here/dedup/drafts/", {"p.dedup_duplicate": "0.9"})
    version = Version.objects.get()
    assert response["Location"] == f"/here/dedup/?p.dedup_duplicate=0.9&draft={version.id}#draft"
    assert current_write_policy(namespace).dedup_duplicate == 0.92
    assert not Publication.objects.exists()
    page = collapse(client.get(response["Location"]))
    assert "Version 1 of default is a draft" in page
    assert f"/api/v1/here/policies/{version.id}/preview/" in page
    assert client.get(f"/api/v1/here/policies/{version.id}/preview/").status_code == 200
    told = collapse(client.post(f"/here/dedup/drafts/{version.id}/publish/", follow=True))
    assert "Version 1 of default is now in force: restatements merged above .9, judged from .85." in told
    assert current_write_policy(namespace).dedup_duplicate == 0.9
    assert current_write_policy(namespace).with_values(dedup_duplicate=0.92) == type(current_write_policy(namespace))()
    assert "is a draft" not in collapse(client.get(response["Location"]))


@pytest.mark.parametrize("moved", [{}, {"p.dedup_duplicate": "0.92"}, {"p.dedup_duplicate": "2"}])
def test_nothing_is_kept_where_nothing_was_moved(client: Client, namespace: Namespace, moved: dict[str, str]) -> None:
    assert "Nothing was saved" in collapse(client.post("/here/dedup/drafts/", moved, follow=True))
    assert not Version.objects.exists()


def test_a_policy_is_an_admins_to_change(client: Client, namespace: Namespace) -> None:
    version = row(Version, namespace)
    member(client, namespace, Role.WRITE)
    assert "Save as a draft" not in get_page(client, **{"p.dedup_duplicate": "0.9"})
    assert client.post("/here/dedup/drafts/", {"p.dedup_duplicate": "0.9"}).status_code == 403
    assert client.post(f"/here/dedup/drafts/{version.id}/publish/").status_code == 403
    assert not Publication.objects.exists()


def test_a_draft_of_another_namespace_cannot_be_published(client: Client, namespace: Namespace) -> None:
    foreign = row(Version, Namespace.objects.create(slug="there", title="There"))
    assert client.post(f"/here/dedup/drafts/{foreign.id}/publish/").status_code == 404
    assert "is a draft" not in get_page(client, draft=str(foreign.id))


@pytest.mark.django_db(transaction=True)
def test_a_line_is_dragged_and_the_page_follows(page: Page, client: Client) -> None:
    namespace = world("here")
    user = member(client, namespace, Role.ADMIN)
    row(ReviewItem, namespace, cosine=0.9)
    page.goto("/sign-in/?next=/here/dedup/")
    page.fill("input[name=username]", user.username)
    page.fill("input[name=password]", "a long password")
    page.press("input[name=password]", "Enter")
    expect(page.locator("#bands-h")).to_have_text("1 pair would be merged, 2 judged")
    expect(page.locator("#histogram .main-svg").first).to_be_visible(timeout=30_000)
    box = page.locator("#histogram").bounding_box()
    assert box is not None

    def at(cosine: float) -> tuple[float, float]:
        axis = "document.getElementById('histogram')._fullLayout.xaxis"
        return box["x"] + page.evaluate(f"{axis}._offset + {axis}.l2p({cosine})"), box["y"] + 100

    page.mouse.move(*at(0.92))
    expect(page.locator("#histogram.near-line")).to_have_count(1)
    page.mouse.down()
    page.mouse.move(*at(0.9), steps=4)
    page.mouse.move(*at(0.8912), steps=4)  # between two steps
    page.mouse.up()
    expect(page.locator("#p-dedup_duplicate")).to_have_value("0.89")
    expect(page.locator("#bands-h")).to_have_text("2 pairs would be merged, 1 judged")
    expect(page.locator(".bands")).to_contain_text("▲ 1 more would be merged")
    page.wait_for_url("**/here/dedup/?p.dedup_duplicate=0.89")
    # The other line is taken along, and never passes.
    page.mouse.move(*at(0.85))
    page.mouse.down()
    page.mouse.move(*at(0.91), steps=6)
    page.mouse.up()
    expect(page.locator("#p-dedup_duplicate")).to_have_value("0.91")
    expect(page.locator("#bands-h")).to_have_text("1 pair would be merged, none judged")
    expect(page.locator(".problem")).to_have_count(0)
    page.locator(".tabs a", has_text="distinct").click()
    expect(page.locator("#pairs-h")).to_contain_text("of the distinct pairs")
    page.locator("#p-dedup_escalate").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#p-dedup_escalate")).to_have_value("0.9")
    expect(page.locator("#bands-h")).to_have_text("1 pair would be merged, 1 judged")
    page.locator("#queue button", has_text="Different").click()
    expect(page.locator("#queue-h")).to_have_text("No pair to review")
    expect(page.locator("#queue .notice")).to_be_focused()
    expect(page.locator("#errors-h")).to_contain_text("0 of 1 distinct pair")
    page.reload()
    expect(page.locator("#pairs-h")).to_contain_text("of the distinct pairs")
    expect(page.locator("#p-dedup_duplicate")).to_have_value("0.91")
    page.locator("button", has_text="Save as a draft").click()
    expect(page.locator("#draft-h")).to_have_text("Version 1 of default is a draft")
    page.locator("button", has_text="Publish version 1").click()
    expect(page.locator(".notice")).to_contain_text("restatements merged above .91, judged from .9")
    expect(page.locator("#histogram .main-svg").first).to_be_visible(timeout=30_000)
