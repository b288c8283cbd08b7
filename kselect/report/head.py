"""The head of a page: the paper, the result in one sentence, and how the numbers were made."""

from __future__ import annotations

import platform
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path

import kselect
from kselect.core.claim import Paper
from kselect.report.claims.judge import Judged, judge_claims
from kselect.report.claims.rules import KIND_WORDS, Verdict
from kselect.report.glossary import explain
from kselect.report.words import describe_run, show_p
from kselect.stats.distances import Distance, count_agreements, distances
from kselect.stats.samples import LEVEL
from kselect.stats.study import Study
from kselect.store.environment import cpu_name

GUIDE = Path(kselect.__file__).parent / "guide" / "citing.md"
INSTALL = "Install kselect first: in a copy of its source, make install or pip install -e ."
# A summary spells out at most this many claims of each verdict, main claims first, and links to the others.
SPELT = 2
# It links to the single claims of at most this many other kinds per verdict.
KINDS = 4
# Claims of more words are not spelled out, unless they are main claims.
LONGEST = 16
SPELLED: tuple[Verdict, ...] = ("supported", "mixed", "not supported")
PHRASES: dict[Verdict, str] = {
    "supported": "supported",
    "mixed": "mixed",
    "not supported": "not supported",
    "too few numbers": "without enough numbers",
    "no numbers": "without numbers",
    "not tested here": "not tested here",
}


@dataclass(frozen=True)
class Counted:
    """The claims with one verdict: its words, the claims that are spelled out, and others by kind.

    ``hidden`` is the number of claims of further kinds.
    """

    verdict: Verdict
    words: str
    claims: tuple[Judged, ...]
    spelled: tuple[Judged, ...]
    rest: tuple[tuple[str, tuple[Judged, ...]], ...]
    hidden: int


@dataclass(frozen=True)
class Summary:
    """The claims of an experiment in a few sentences, and how many published cells agree.

    ``lead`` counts the supported claims, ``groups`` has the claims of each verdict that occurs, and ``recount``
    tells which verdicts on times change as the paper counts.
    """

    total: int
    supported: int
    lead: str
    groups: tuple[Counted, ...]
    recount: str
    agreement: str


@dataclass(frozen=True)
class Copied:
    """A text that a reader may copy, folded below its title: a command, a program or a citation.

    ``what`` names it on the button, ``hint`` says what to do with it.
    """

    title: str
    what: str
    text: str
    hint: str = ""


@dataclass(frozen=True)
class Head:
    """The part above the chapters: the result in one sentence, the facts behind it, and texts to copy.

    The page of an experiment has a ``summary`` of its claims, a paper with its venue and address, and the meanings
    of its abbreviations.
    """

    facts: tuple[tuple[str, str], ...]
    copied: tuple[Copied, ...]
    lead: str = ""
    summary: Summary | None = None
    paper: Paper | None = None
    where: str = ""
    address: str = ""
    terms: tuple[tuple[str, str], ...] = ()


def make_head(study: Study) -> Head:
    """Return the head of the page of an experiment."""
    paper = study.paper
    name = study.experiment.name
    again = shlex.quote(f"{name}-again")
    commands = f"kselect run config.resolved.yaml -o {again}\nkselect report {again}"
    copied = [
        Copied(
            "Run it again",
            "commands",
            commands,
            how_to_run(study),
        )
    ]
    citation = find_citation(paper.name) if paper else ""
    if citation:
        copied.append(Copied("Cite the paper (BibTeX)", "BibTeX entry", citation))
    summary = study.once(summarise)
    return Head(
        tuple(facts(study)),
        tuple(copied),
        lead="" if summary.lead else describe_ranks(study),
        summary=summary,
        paper=paper,
        where=show_venue(paper) if paper else "",
        address=show_address(paper) if paper else "",
        terms=tuple(explain([study.experiment])),
    )


def how_to_run(study: Study) -> str:
    """Return where to type the commands that compute a page again, what they need, and how long they take."""
    took = describe_run(study.seconds, (machine.cpu for machine in study.facts.machines))
    time = (
        f" The jobs behind this page took {took}; -j N shares them among N processes."
        if took
        else ""
    )
    return (
        f"{INSTALL} Then type these commands in the folder of this page.{time} The data come from the network, or "
        "with --mirror DIR from a copy."
    )


def this_machine() -> str:
    """Return the versions, the processor and the date of numbers that this process has computed."""
    versions = f"kselect {kselect.__version__}; Python {platform.python_version()}"
    libraries = "; ".join(f"{name} {version(name)}" for name in ("numpy", "scipy"))
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{versions}; {libraries}; {cpu_name() or 'an unknown processor'}; {now}"


def show_venue(paper: Paper) -> str:
    """Return ``ECML PKDD 2014``; the year follows if the venue does not contain it."""
    year = str(paper.year or "")
    return paper.venue if year in paper.venue else ", ".join(filter(None, (paper.venue, year)))


def show_address(paper: Paper) -> str:
    """Return the address of a paper, with its DOI if it has one; empty if it is unknown."""
    return f"https://doi.org/{paper.doi}" if paper.doi else paper.url


@cache
def citations() -> dict[str, str]:
    """Return key -> BibTeX entry of the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    return {
        found[1]: found[0] for found in re.finditer(r"^@\w+\{(\w+),\n.*?^\}", text, re.M | re.S)
    }


def find_citation(name: str) -> str:
    """Return the BibTeX entry of a paper; empty if the guide has none."""
    return citations().get(name, "")


def summarise(study: Study) -> Summary:
    """Return the summary of the main reading of all claims."""
    judged = study.once(judge_claims)
    main = study.paper.main if study.paper else ()
    groups = tuple(
        count_claims(verdict, words, mine, main)
        for verdict, words in PHRASES.items()
        if (mine := tuple(j for j in judged if j.finding.verdict == verdict))
    )
    total, good = len(judged), sum(j.finding.verdict == "supported" for j in judged)
    lead = f"{good} of {total} claim{'s' * (total != 1)} {'is' if good == 1 else 'are'} supported."
    agreement = describe_agreement(study.once(distances, study.experiment.loss))
    if study.experiment.paper and not agreement:
        agreement = "No printed number of the paper stands next to ours."
    return Summary(total, good, lead if total else "", groups, describe_recount(judged), agreement)


def count_claims(
    verdict: Verdict, words: str, claims: tuple[Judged, ...], main: Sequence[str]
) -> Counted:
    """Return the claims of one verdict; without a judgement none is spelled out."""
    spelled = spell_out(claims, main) if verdict in SPELLED else []
    rest: dict[str, list[Judged]] = {}
    for one in claims:
        if one not in spelled:
            rest.setdefault(KIND_WORDS[one.claim.kind], []).append(one)
    by_kind = tuple((kind, tuple(mine)) for kind, mine in rest.items())
    hidden = sum(len(mine) for _, mine in by_kind[KINDS:])
    return Counted(verdict, words, claims, tuple(spelled), by_kind[:KINDS], hidden)


def spell_out(claims: Sequence[Judged], main: Sequence[str]) -> list[Judged]:
    """Return the claims that a summary writes in words: the main ones, then short ones, first of other kinds."""
    found = [one for one in claims if one.claim.id in main]
    short = [one for one in claims if len(one.claim.text.split()) <= LONGEST]
    for repeats in (False, True):
        for one in short:
            known = one in found or (
                one.claim.kind in {f.claim.kind for f in found} and not repeats
            )
            if len(found) < SPELT and not known:
                found.append(one)
    return found


def describe_recount(judged: Sequence[Judged]) -> str:
    """Return how often claims on times hold as the paper counts, if their verdicts change; else nothing."""
    found = [f"{j.finding.recount} ({j.claim.id})" for j in judged if j.finding.recount]
    if not found:
        return ""
    return (
        "As the paper counts seconds (without the trainings of the first method), more comparisons reach the "
        f"claimed factors: {', '.join(found)}."
    )


def describe_ranks(study: Study) -> str:
    """Return which method has the lowest mean rank, for an experiment without claims; nothing for one data set."""
    ranks = study.comparison(study.experiment.loss).ranks
    one = next(iter(ranks.values()), None)
    if one is None or one.friedman is None or len(ranks) > 1:
        return ""
    methods = study.comparison(study.experiment.loss).methods
    best = min(range(len(methods)), key=lambda i: one.mean[i])
    text = show_p(one.friedman.p_value)
    p = text if "<" in text else f"= {text}"
    told = "differ" if one.friedman.p_value < LEVEL else "are not told apart"
    return (
        f"{methods[best]} has the lowest mean rank ({one.mean[best]:.2f}) of {len(methods)} methods on "
        f"{len(one.datasets)} data sets; by Friedman's test the methods {told} (p {p})."
    )


def describe_agreement(found: Sequence[Distance]) -> str:
    """Return ``80 of 124 published cells are within two standard errors of ours``; nothing without cells."""
    if not found:
        return ""
    near = count_agreements(found)[-1].verdicts["within 2"]
    return f"{near} of {len(found)} published cells are within two standard errors of ours."


def facts(study: Study) -> list[tuple[str, str]]:
    """Return the machines, versions and jobs behind the numbers."""
    made = study.facts
    found = []
    for machine in made.machines:
        version = machine.packages.get("kselect", "unknown")
        commit = f", commit {machine.commit[:12]}" if machine.commit else ""
        changed = " with local changes" if machine.changed else ""
        words = (
            f"kselect {version}{commit}{changed}",
            f"Python {machine.python}",
            machine.cpu or "an unknown processor",
            f"{machine.jobs} jobs",
            machine.when,
        )
        found.append(("Computed with", "; ".join(filter(None, words))))
    return [*found, ("Jobs", f"{made.jobs}, with {made.failed} failed records")]
