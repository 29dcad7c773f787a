"""Views of the Lab: a query, its plan, the explained ranking, and sliders that rerank it."""

import time
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.views.decorators.http import require_http_methods

from memories.contracts.answer import ParsedReport
from memories.models import JudgedQuery, Namespace, Trace
from memories.models.choices import MemoryType, Role
from memories.pages import sliders
from memories.pages.access import access_of, members_only
from memories.pages.lab import charts, forms, grades, side_by_side, why_not_panel
from memories.pages.lab.contributions import score_contributions
from memories.pages.lab.hits import count_moves, explanation_trees, hit_rows, ranks_at_start, retriever_lists
from memories.pages.lab.plan_panel import plan_context, weighting_context
from memories.pages.retriever_styles import retriever_legend
from memories.retrieval.answer import build_answer
from memories.retrieval.config import override_params
from memories.retrieval.inert import inert_reasons
from memories.retrieval.query import Config
from memories.retrieval.replay import Replay, replay
from memories.retrieval.retrieve import retrieve
from memories.retrieval.trace import config_from_trace, store_trace
from memories.web.layout import render_page
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

TEMPLATE = "memories/lab.html"
PARTIALS = {"answer": "moved", "beside": "beside", "why-not": "missing"}  # htmx target → template partial
TREE_PARTIAL = "tree"  # explanation of one hit, loaded when it is opened
MAX_EXAMPLES = 6


@require_http_methods(["GET", "HEAD", "POST"])
@members_only
def lab(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Run a query and redirect to its trace, or show a trace under the parameters of the query string.

    The form is posted, as a URL has no room for a long query.
    """
    if request.method == "POST":
        return run_lab_query(request, namespace, request.POST)
    trace = forms.find_trace(namespace, request.GET)
    if trace is not None and trace.system in SYSTEMS:
        return render_trace_in_lab(request, trace)
    data = forms.with_query_of(namespace, request.GET)
    if "query" in data:
        return run_lab_query(request, namespace, data)
    if "trace" in data or "of" in data:
        raise Http404("There is no such trace in this namespace; it may be past its retention. Run the query again.")
    return render_page(request, TEMPLATE, {**lab_form_context(namespace), "examples": example_queries(namespace)})


def run_lab_query(request: HttpRequest, namespace: Namespace, data: QueryDict) -> HttpResponse:
    """Run a query and redirect to its trace, or show what is wrong with it."""
    form = forms.parse_lab_query(namespace, data)
    if form.query is None:
        context = {"typed": form.raw, "problems": form.problems}
        return render_page(request, TEMPLATE, {**lab_form_context(namespace), **context}, status=400)
    retrieval = retrieve(form.query)
    id = store_trace(retrieval, build_answer(retrieval, explain="none"), key=None)
    again = "1" if "trace" in data else ""
    panels = {key: value for key, value in data.items() if key in ("beside", "missing")}
    changed = {key.removeprefix(sliders.PREFIX): value for key, value in data.items() if key.startswith(sliders.PREFIX)}
    return HttpResponseRedirect(
        f"{request.path}?{forms.lab_query_string(form.raw, {'trace': id, 'again': again, **panels}, changed)}"
    )


def render_trace_in_lab(request: HttpRequest, trace: Trace) -> HttpResponse:
    """Replay a trace under the parameters of the query string; writes nothing."""
    began = time.perf_counter()
    state = LabState(trace, request)
    htmx = getattr(request, "htmx", None)
    target = (htmx.target or "") if htmx else ""
    partial = (TREE_PARTIAL if target.startswith(TREE_PARTIAL) else PARTIALS.get(target, "moved")) if htmx else ""
    context = state.context(partial)
    context["took"] = 1000 * (time.perf_counter() - began)
    response = render_page(request, TEMPLATE, context, partial=partial)
    if htmx and partial != TREE_PARTIAL:
        response["HX-Replace-Url"] = f"{request.path}?{context['here']}"
    return response


class LabState:
    """A traced query under the parameters of one query string."""

    def __init__(self, trace: Trace, request: HttpRequest) -> None:
        self.trace, self.request, self.data = trace, request, request.GET
        self.start: Config = config_from_trace(trace)
        self.start_params: Mapping[str, Any] = {**trace.plan["params"], **self.start.given}
        params = self.start.system.params
        self.changed, self.problems = sliders.parse_valid_params(params, self.data, self.start_params)
        try:
            self.config = override_params(self.start, self.changed)
        except ParamsError as error:
            self.problems += error.problems
            self.changed, self.config = {}, self.start
        self.raw = forms.form_values_from_trace(trace)
        self.before = {name: params.of(dict(self.start_params)).as_dict()[name] for name in self.changed}

    def query_string(self, changed: Mapping[str, Any] | None = None, **more: Any) -> str:
        """The query string of this state, with overrides."""
        panels = {name: self.data.get(name, "") for name in ("beside", "missing", "find")}
        extra = {"trace": self.trace.id, **panels, **more}
        return forms.lab_query_string(self.raw, extra, self.changed if changed is None else changed)

    def context(self, partial: str) -> dict[str, Any]:
        """The context of the whole page, or of one partial."""
        replayed = replay(self.trace, self.config)
        context = {"typed": self.raw, "trace": self.trace, "here": self.query_string(), "param_problems": self.problems}
        context |= {"changed": self.changed, "namespace": self.trace.namespace, "start": self.start}
        if partial in ("", "moved"):
            context |= self.ranking_context(replayed, partial)
        if partial == TREE_PARTIAL:
            return context | self.explanation_context(replayed)
        if partial in ("", "beside"):
            context |= side_by_side.comparison_context(self, replayed.retrieval)
        if partial in ("", "missing"):
            context |= why_not_panel.why_not_context(self, replayed)
        if not partial:
            context = lab_form_context(self.trace.namespace) | context | self.surrounding_context(replayed)
        return context

    def ranking_context(self, replayed: Replay, partial: str) -> dict[str, Any]:
        """The explained ranking and its changes against the start."""
        retrieval, start = replayed.retrieval, ranks_at_start(self.trace)
        contributions = score_contributions(retrieval)
        answer = build_answer(retrieval, explain="none")
        hits = hit_rows(retrieval, answer.results, contributions, start, grades.grades_for_trace(self.trace))
        # While sliders move, only open explanations are rendered; the others load when opened.
        opened = [hit for hit in hits if not partial or str(hit.result.id) in self.data.getlist("explain")]
        trees = explanation_trees(retrieval, [str(hit.result.id) for hit in opened], self.before)
        for hit, tree in zip(opened, trees, strict=True):
            hit.tree = tree
        return {
            "answer": answer,
            "inert": answer.plan.inert,
            "weighting": weighting_context(answer.plan.weighting) if answer.plan.weighting else None,
            "hits": hits,
            "filtered": [f"{count} {gate.replace('_', ' ')}" for gate, count in answer.filtered.items()],
            "moves": count_moves(hits, start),
            "moved": bool(self.changed),
            "rerun_because": [name.replace("_", " ") for name in replayed.rerun_because],
            "stale_hits": len(replayed.changed),
            "legend": retriever_legend(contributions),
            "skyline": charts.skyline_chart(retrieval, contributions),
            "skyline_label": charts.skyline_label(retrieval),
            "capped": max(0, len(retrieval.signals) - charts.MAX_BARS),
            "candidates": len(retrieval.signals),
            "lists": retriever_lists(retrieval, answer.results),
            "may_judge": access_of(self.request, self.trace.namespace).allows(Role.WRITE),
        }

    def explanation_context(self, replayed: Replay) -> dict[str, Any]:
        """Explanation trees of the hits named by `explain`."""
        retrieval = replayed.retrieval
        candidates = {str(id) for id in retrieval.signals.ids}
        ids = [id for id in self.data.getlist("explain") if id in candidates]
        return {"hits": [{"tree": tree} for tree in explanation_trees(retrieval, ids, self.before)]}

    def surrounding_context(self, replayed: Replay) -> dict[str, Any]:
        """What a moved slider does not change: the plan, the sliders and the query's latency."""
        retrieval = replayed.retrieval
        system = retrieval.query.config.system
        retrievers = retrieval.query_plan.plan.retrievers
        idle = [f"weight_{name}" for name in system.retrievers if name not in retrievers]
        inert = inert_reasons(self.config, retrieval.params, retrieval.signals, retrieval.query_plan.plan)
        values = {**self.start_params, **self.changed}
        groups = sliders.param_groups(system.params, values, self.start_params, idle, inert)
        return {
            "plan": plan_context(retrieval, ParsedReport.from_dict(self.trace.answer.get("plan", {}))),
            "groups": groups,
            "retrieval_ms": sum(self.trace.took_ms.values()),
            "retrievers": len(retrieval.active_retrievers),
            "again": self.data.get("again"),
            "may_save": access_of(self.request, self.trace.namespace).allows(Role.WRITE),
            "profile": self.start.profile,
        }


def lab_form_context(namespace: Namespace) -> dict[str, Any]:
    """Options and empty values of the query form."""
    return {
        "namespace": namespace,
        "ranking_options": forms.ranking_options(namespace),
        "types": MemoryType.values,
        "now": namespace.now,
        "typed": {
            "query": "",
            "by": "",
            "top_k": str(forms.DEFAULT_TOP_K),
            "as_of": "",
            "types": [],
            "tags": "",
            "user": "",
            "on_low_confidence": "",
        },
    }


def example_queries(namespace: Namespace) -> list[JudgedQuery]:
    """Judged queries to start from."""
    return list(JudgedQuery.objects.within(namespace).order_by("id")[:MAX_EXAMPLES])
