"""The Optimise and Ablation pages in a browser."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection
from playwright.sync_api import Page, expect

from memories.contracts.new_memory import NewMemory
from memories.jobs.attempt import run_job
from memories.models import Job, JudgedQuery, Judgement, JudgementSet, Membership, Memory, Namespace
from memories.models.choices import JobKind, Role, Split
from memories.pages.optimise.search_summary import NO_IMPROVEMENT
from memories.writing.remember import remember


def run_in_worker(job: Job) -> None:
    """Run a job in another thread, as a worker would."""

    def work() -> None:
        run_job(job.namespace_id, job.id)
        connection.close()

    with ThreadPoolExecutor(1) as executor:
        executor.submit(work).result()


@pytest.mark.django_db(transaction=True)
def test_a_person_searches_watches_and_looks_at_the_ablation(page: Page, live_server: object) -> None:
    namespace = Namespace.objects.create(slug="here", title="Here", embedder="wordllama-256")
    user = User.objects.create_user("ada", password="a long password")
    Membership.objects.create(namespace=namespace, user=user, role=Role.WRITE)
    contents = [
        "Invoicing runs on PostgreSQL 16.",
        "The nightly backup starts at two.",
        "Maya prefers PostgreSQL to MySQL.",
    ]
    remember(namespace, [NewMemory(content=one) for one in contents], by="tests")
    whole = JudgementSet.objects.create(namespace=namespace, name="questions")
    for number, one in enumerate(contents * 2):
        split = Split.HOLDOUT if number % 2 else Split.TUNE
        query = JudgedQuery.objects.create(namespace=namespace, judgement_set=whole, text=one, split=split)
        memory = Memory.objects.within(namespace).get(content=one)
        Judgement.objects.create(namespace=namespace, query=query, memory=memory, grade=3)
    page.goto("/sign-in/?next=/here/optimise/")
    page.fill("input[name=username]", "ada")
    page.fill("input[name=password]", "a long password")
    page.press("input[name=password]", "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Optimise")
    page.wait_for_load_state("load")
    page.get_by_label("Start from").select_option("memsense")
    expect(page.get_by_label("Relevance against novelty")).to_be_visible()
    page.get_by_label("Relevance against novelty").check()
    page.get_by_label("Max. configurations").fill("8")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#verdict-h")).to_have_text("The search is queued")
    job = Job.objects.within(namespace).get(kind=JobKind.OPTIMISE)
    assert "mmr_lambda" in job.params["move"]
    run_in_worker(job)
    expect(page.locator("#verdict-h")).to_have_text(NO_IMPROVEMENT)  # by polling
    expect(page.locator("[data-figure=fig-progress] svg").first).to_be_visible()
    page.get_by_role("link", name="Ablation").click()
    page.wait_for_load_state("load")
    page.get_by_label("Ranked by").select_option("memsense")
    expect(page.locator("#overlap-h")).to_be_visible()
    assert "by=memsense" in page.url
