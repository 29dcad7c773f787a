"""The Lab's page: a question, its plan, the ranking with its reasons, and sliders that rank it again."""

import time
from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_GET

from memories.models import JudgedQuery, Namespace, Trace
from memories.models.choices import MemoryType, Role
from memories.pages import sliders
from memories.pages.access import access_of, members_only
from memories.pages.lab import address, beside, figures, judging, missing
from memories.pages.lab.hits import against, hits, lists, start_of, trees
from memories.pages.lab.plan import planned
from memories.pages.lab.routes import colours
from memories.pages.lab.shares import shares
from memories.retrieval import tracing
from memories.retrieval.answer import told
from memories.retrieval.query import Setting
from memories.retrieval.replaying import Replay, replay
from memories.retrieval.retrieve import retrieve
from memories.retrieval.settings import with_params
from memories.retrieval.tracing import setting_of
from recall_site.layout import render_page
from scoring.params import ParamsError
from scoring.systems import SYSTEMS

TEMPLATE = "memories/lab.html"
PARTS = {"answer": "moved", "beside": "beside", "why-not": "missing"}  # what htmx swaps, and its partial
TREE = "tree"  # of one hit, which htmx asks for when it is opened
EXAMPLES = 6


@require_GET
@members_only
def lab(request: HttpRequest, namespace: Namespace) -> HttpResponse:
    """Ask a question, or show one that was asked under the parameters of the address."""
    trace = address.trace_of(namespace, request.GET)
    if trace is not None and trace.system in SYSTEMS:
        return shown(request, trace)
    if "query" not in request.GET:
        if "trace" in request.GET:
            raise Http404("That trace is not kept here. Traces are kept for a while; ask the question again.")
        return render_page(request, TEMPLATE, {**frame(namespace), "examples": examples(namespace)})
    asked = address.asked(namespace, request.GET)
    if asked.query is None:
        context = {"typed": asked.typed, "problems": asked.problems}
        return render_page(request, TEMPLATE, {**frame(namespace), **context}, status=400)
    retrieval = retrieve(asked.query)
    id = tracing.write(retrieval, told(retrieval, explain="none"), key=None)
    again = "1" if "trace" in request.GET else ""
    kept = {key: value for key, value in request.GET.items() if key in ("beside", "missing")}
    moved = {
        key.removeprefix(sliders.PREFIX): value for key, value in request.GET.items() if key.startswith(sliders.PREFIX)
    }
    return HttpResponseRedirect(
        f"{request.path}?{address.written(asked.typed, {'trace': id, 'again': again, **kept}, moved)}"
    )


def shown(request: HttpRequest, trace: Trace) -> HttpResponse:
    """A question that was asked, ranked under the parameters of the address; nothing is recorded."""
    began = time.perf_counter()
    state = State(trace, request)
    htmx = getattr(request, "htmx", None)
    target = (htmx.target or "") if htmx else ""
    part = (TREE if target.startswith(TREE) else PARTS.get(target, "moved")) if htmx else ""
    context = state.context(part)
    context["took"] = 1000 * (time.perf_counter() - began)
    response = render_page(request, TEMPLATE, context, partial=part)
    if htmx and part != TREE:
        response["HX-Replace-Url"] = f"{request.path}?{context['here']}"
    return response


class State:
    """What one address of a traced question shows."""

    def __init__(self, trace: Trace, request: HttpRequest) -> None:
        self.trace, self.request, self.sent = trace, request, request.GET
        self.start: Setting = setting_of(trace)
        self.usual: Mapping[str, Any] = {**trace.plan["params"], **self.start.given}
        params = self.start.system.params
        self.changed, self.problems = sliders.moved(params, self.sent, self.usual)
        try:
            self.setting = with_params(self.start, self.changed)
        except ParamsError as error:
            self.problems |= {one.at: one.message for one in error.problems}
            self.changed, self.setting = {}, self.start
        self.typed = address.typed_of(trace)
        self.before = {name: params.of(dict(self.usual)).as_dict()[name] for name in self.changed}

    def link(self, changed: Mapping[str, Any] | None = None, **more: Any) -> str:
        """The address of this state, or of one near it."""
        kept = {name: self.sent.get(name, "") for name in ("beside", "missing", "find")}
        said = {"trace": self.trace.id, **kept, **more}
        return address.written(self.typed, said, self.changed if changed is None else changed)

    def context(self, part: str) -> dict[str, Any]:
        """All that the page shows, or what one part of it needs."""
        done = replay(self.trace, self.setting)
        context = {"typed": self.typed, "trace": self.trace, "here": self.link(), "param_problems": self.problems}
        context |= {"changed": self.changed, "namespace": self.trace.namespace, "start": self.start}
        if part in ("", "moved"):
            context |= self.ranking(done, part)
        if part == TREE:
            return context | self.explanation(done)
        if part in ("", "beside"):
            context |= beside.shown(self, done.retrieval)
        if part in ("", "missing"):
            context |= missing.shown(self, done)
        if not part:
            context = frame(self.trace.namespace) | context | self.around(done)
        return context

    def ranking(self, done: Replay, part: str) -> dict[str, Any]:
        """The ranking with its reasons, and how it moved against the start."""
        retrieval, start = done.retrieval, start_of(self.trace.answer)
        brought = shares(retrieval)
        answer = told(retrieval, explain="none")
        grades = judging.grades(self.trace)
        rows = hits(retrieval, answer["results"], brought, start, grades)
        # Whoever moves sliders has few explanations open; the others come when they are.
        wanted = [one for one in rows if not part or str(one["id"]) in self.sent.getlist("explain")]
        for id, tree in trees(retrieval, wanted, self.before).items():
            next(one for one in wanted if one["id"] == id)["tree"] = tree
        return {
            "answer": answer,
            "hits": rows,
            "held": {gate.replace("_", " "): count for gate, count in answer["filtered"].items()},
            "moves": against(rows, start),
            "moved": bool(self.changed),
            "live": [name.replace("_", " ") for name in done.live],
            "gone": len(done.changed),
            "late": answer["late"],
            "keys": colours(brought),
            "skyline": figures.skyline(retrieval, brought),
            "skyline_label": figures.skyline_label(retrieval),
            "capped": max(0, len(retrieval.signals) - figures.MOST_BARS),
            "candidates": len(retrieval.signals),
            "lists": lists(retrieval, answer["results"]),
            "may_judge": access_of(self.request, self.trace.namespace).allows(Role.WRITE),
        }

    def explanation(self, done: Replay) -> dict[str, Any]:
        """The explanations that the address names, of hits that are there."""
        retrieval = done.retrieval
        known = {str(row["id"]): row for row in retrieval.batch.rows}
        rows = [known[id] for id in self.sent.getlist("explain") if id in known]
        return {"hits": [{"tree": tree} for tree in trees(retrieval, rows, self.before).values()]}

    def around(self, done: Replay) -> dict[str, Any]:
        """What stays while sliders move: the plan, the sliders themselves, and what was asked."""
        retrieval = done.retrieval
        system = retrieval.query.setting.system
        asked = retrieval.planning.plan.retrievers
        idle = [f"weight_{route}" for route in system.routes if route not in asked]
        groups = sliders.groups(system.params, {**self.usual, **self.changed}, self.usual, idle)
        return {
            "plan": planned(retrieval, self.trace.answer.get("plan", {})),
            "groups": groups,
            "asked_ms": sum(self.trace.took_ms.values()),
            "retrievers": len(asked),
            "again": self.sent.get("again"),
            "may_save": access_of(self.request, self.trace.namespace).allows(Role.WRITE),
            "profile": self.start.profile,
        }


def frame(namespace: Namespace) -> dict[str, Any]:
    """What the form offers, and the namespace's own now."""
    return {
        "namespace": namespace,
        "ways": address.ways(namespace),
        "types": MemoryType.values,
        "now": namespace.now,
        "typed": {"query": "", "by": "", "top_k": str(address.TOP_K), "as_of": "", "types": [], "tags": "", "user": ""},
    }


def examples(namespace: Namespace) -> list[JudgedQuery]:
    """Questions that somebody has judged: a good place to begin."""
    return list(JudgedQuery.objects.within(namespace).order_by("id")[:EXAMPLES])
