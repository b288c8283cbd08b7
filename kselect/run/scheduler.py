"""Trials -> Records: workers, progress, a second try for a job whose worker died, interruption."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field, replace

from kselect.core.experiment import Experiment
from kselect.core.job import Jobs, Outcome, Trial, protocol_of
from kselect.plan import Plan, still_pending
from kselect.run.claims import Claims
from kselect.run.progress import Progress
from kselect.run.trial import failed_outcome
from kselect.run.workers import check_alive, stop, submit, worker_died

POLL_SECONDS = 1.0
DIED_TWICE = "its worker died twice (killed, or out of memory)"


@dataclass(frozen=True)
class Settings:
    """How to run, apart from what."""

    n_jobs: int = 1
    fresh: bool = False
    retry_failed: bool = False
    fail_fast: bool = False
    quiet: bool = False


@dataclass
class Run:
    """A run under way. At most one trial a worker is handed out, so that a dead worker accuses few."""

    experiment: Experiment
    store: Jobs
    environment: str
    settings: Settings
    executor_of: Callable[[int], Executor]
    progress: Progress
    cost: Callable[[Trial], float]
    claims: Claims
    waiting: deque[Trial] = field(default_factory=deque)
    suspects: deque[Trial] = field(default_factory=deque)
    elsewhere: deque[Trial] = field(default_factory=deque)
    under_way: dict[Future[Outcome], Trial] = field(default_factory=dict)
    failed: int = 0
    told: bool = False

    def work(self) -> None:
        """Until nothing is left; Ctrl-C leaves at once and keeps what is stored."""
        executor = self.executor_of(self.settings.n_jobs)
        try:
            while self.waiting or self.under_way or self.elsewhere:
                whole = self.hand_out(executor)
                if whole and not self.under_way:
                    self.wait_for_others()
                elif not whole or self.collect(executor):
                    stop(executor)
                    executor = self.executor_of(self.settings.n_jobs)
            while self.suspects:
                self.second_try(self.suspects.popleft())
        finally:
            stop(executor)

    def hand_out(self, executor: Executor) -> bool:
        """Fill the workers, leaving out what other runs have done or in hand; False if the workers are broken."""
        while self.waiting and len(self.under_way) < self.settings.n_jobs:
            trial = self.waiting.popleft()
            if not self.claims.job(trial.dataset, trial.split):
                self.elsewhere.append(trial)
                continue
            # After the claim: the run that had it may have finished it.
            if not self.settings.fresh:
                trial = still_pending(
                    self.experiment, trial, self.store, self.settings.retry_failed
                )
            if not trial.methods:
                self.claims.release(trial.dataset, trial.split)
                self.progress.advance(trial.name, self.cost(trial))
                continue
            try:
                self.under_way[submit(executor, self.experiment, trial)] = trial
            except BrokenExecutor:
                self.waiting.appendleft(trial)
                return False
        return True

    def wait_for_others(self) -> None:
        """All that is left is in the hands of other runs: look again until they are done or gone."""
        if not self.elsewhere:
            return
        names = ", ".join(t.name for t in list(self.elsewhere)[:3])
        more = ", ..." if len(self.elsewhere) > 3 else ""
        if not self.told:
            self.progress.say(f"waiting for another run, which has {names}{more} in hand")
            self.told = True
        time.sleep(POLL_SECONDS)
        self.waiting, self.elsewhere = self.elsewhere, deque()

    def collect(self, executor: Executor) -> bool:
        """Store what is finished; True if a worker died: then all that was under way is suspect."""
        finished, _ = wait(self.under_way, POLL_SECONDS, return_when=FIRST_COMPLETED)
        check_alive(executor)
        broken = False
        for future in finished:
            trial = self.under_way.pop(future)
            try:
                outcome = future.result()
            except Exception as error:
                if not worker_died(error):
                    raise
                broken = True
                self.suspects.append(trial)
            else:
                self.keep(trial, outcome)
        if broken:
            self.suspects.extend(self.under_way.values())
            self.under_way.clear()
        return broken

    def second_try(self, trial: Trial) -> None:
        """A trial whose worker died is run once more, alone: if it dies again, it was the trial."""
        self.progress.say(f"a worker died: {trial.name} is tried again")
        executor = self.executor_of(1)
        try:
            outcome = patient(executor, submit(executor, self.experiment, trial))
        except Exception as error:
            if not worker_died(error):
                raise
            outcome = failed_outcome(self.experiment, trial, DIED_TWICE)
        finally:
            stop(executor)
        self.keep(trial, outcome)

    def keep(self, trial: Trial, outcome: Outcome) -> None:
        """Write an outcome and tell of it."""
        protocol = protocol_of(self.experiment, trial.dataset, trial.source.sha256)
        self.store.add(trial, outcome, protocol, self.environment, self.settings.fresh)
        self.claims.release(trial.dataset, trial.split)
        reasons = sorted(
            {f"{r.method}: {r.reason}" for r in outcome.records if r.status == "failed"}
        )
        self.failed += bool(reasons)
        self.progress.advance(trial.name, self.cost(trial), "; ".join(reasons[:3]))
        if reasons and self.settings.fail_fast:
            self.waiting.clear()
            self.suspects.clear()
            self.elsewhere.clear()


def patient(executor: Executor, future: Future[Outcome]) -> Outcome:
    """The outcome of a trial, unless whoever computes it is gone."""
    while not wait([future], POLL_SECONDS).done:
        check_alive(executor)
    return future.result()


def run_plan(
    experiment: Experiment,
    plan: Plan,
    store: Jobs,
    environment: str,
    settings: Settings,
    executor_of: Callable[[int], Executor],
    claims: Claims,
) -> int:
    """Run a plan's trials; the number of jobs in which something failed."""

    def cost(trial: Trial) -> float:
        return plan.cost(experiment, trial)

    total = sum(map(cost, plan.trials))
    with Progress(len(plan.trials), total, settings.quiet) as progress:
        bare = replace(experiment, figures=())  # workers need not know how things are shown
        run = Run(bare, store, environment, settings, executor_of, progress, cost, claims)
        run.waiting.extend(plan.trials)
        run.work()
    return run.failed
