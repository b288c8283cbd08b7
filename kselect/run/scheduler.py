"""Run a plan: hand trials to workers, store their jobs, and retry a trial whose worker died."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from kselect.core.experiment import Experiment
from kselect.core.job import Job, Jobs, Trial
from kselect.learners import LEARNERS
from kselect.plan import Plan, still_pending
from kselect.run.locks import FolderLocks
from kselect.run.progress import Progress
from kselect.run.trial import failed_job
from kselect.run.workers import check_alive, stop, submit, worker_died

POLL_SECONDS = 1.0
DIED_TWICE = "its worker died twice (killed, or out of memory)"


@dataclass(frozen=True)
class RunOptions:
    """How a plan is run; none of it changes a number."""

    n_jobs: int = 1
    fresh: bool = False
    retry_failed: bool = False
    fail_fast: bool = False
    quiet: bool = False


@dataclass
class Run:
    """A run in progress.

    Each worker has at most one trial, so that few trials are suspected when a worker dies. ``elsewhere`` holds the
    trials that another run has locked.
    """

    experiment: Experiment
    store: Jobs
    environment: str
    options: RunOptions
    executor_of: Callable[[int], Executor]
    progress: Progress
    cost: Callable[[Trial], float]
    locks: FolderLocks
    waiting: deque[Trial] = field(default_factory=deque)
    suspects: deque[Trial] = field(default_factory=deque)
    elsewhere: deque[Trial] = field(default_factory=deque)
    under_way: dict[Future[Job], Trial] = field(default_factory=dict)
    failed: int = 0
    told: bool = False

    def work(self) -> None:
        """Run all trials; Ctrl-C leaves at once and keeps what is stored."""
        executor = self.executor_of(self.options.n_jobs)
        try:
            while self.waiting or self.under_way or self.elsewhere:
                whole = self.hand_out(executor)
                if whole and not self.under_way:
                    self.wait_for_others()
                elif not whole or self.collect(executor):
                    stop(executor)
                    executor = self.executor_of(self.options.n_jobs)
            while self.suspects:
                self.second_try(self.suspects.popleft())
        finally:
            stop(executor)

    def hand_out(self, executor: Executor) -> bool:
        """Fill the workers, except with trials that other runs have done or locked; False if workers are broken."""
        while self.waiting and len(self.under_way) < self.options.n_jobs:
            trial = self.waiting.popleft()
            if not self.locks.job(trial.dataset, trial.split):
                self.elsewhere.append(trial)
                continue
            # Look again once it is locked: the run that held it may have finished it.
            if not self.options.fresh:
                trial = still_pending(self.experiment, trial, self.store, self.options.retry_failed)
            if not trial.methods:
                self.locks.release(trial.dataset, trial.split)
                self.progress.advance(trial.name, self.cost(trial))
                continue
            try:
                self.under_way[submit(executor, self.experiment, trial)] = trial
            except BrokenExecutor:
                self.waiting.appendleft(trial)
                return False
        return True

    def wait_for_others(self) -> None:
        """Wait a moment if other runs hold all trials that are left, then try these again."""
        if not self.elsewhere:
            return
        names = ", ".join(t.name for t in list(self.elsewhere)[:3])
        more = ", ..." if len(self.elsewhere) > 3 else ""
        if not self.told:
            self.progress.say(f"waiting for another run, which is computing {names}{more}")
            self.told = True
        time.sleep(POLL_SECONDS)
        self.waiting, self.elsewhere = self.elsewhere, deque()

    def collect(self, executor: Executor) -> bool:
        """Store the finished jobs; True if a worker died, which makes every unfinished trial a suspect."""
        finished, _ = wait(self.under_way, POLL_SECONDS, return_when=FIRST_COMPLETED)
        check_alive(executor)
        broken = False
        for future in finished:
            trial = self.under_way.pop(future)
            try:
                job = future.result()
            except Exception as error:
                if not worker_died(error):
                    raise
                broken = True
                self.suspects.append(trial)
            else:
                self.keep(trial, job)
        if broken:
            self.suspects.extend(self.under_way.values())
            self.under_way.clear()
        return broken

    def second_try(self, trial: Trial) -> None:
        """Run a suspect again without any other; if its worker dies again, the trial is the cause."""
        self.progress.say(f"a worker died: retrying {trial.name}")
        executor = self.executor_of(1)
        try:
            future = submit(executor, self.experiment, trial)
            while not wait([future], POLL_SECONDS).done:
                check_alive(executor)
            job = future.result()
        except Exception as error:
            if not worker_died(error):
                raise
            job = failed_job(self.experiment, trial, DIED_TWICE)
        finally:
            stop(executor)
        self.keep(trial, job)

    def keep(self, trial: Trial, job: Job) -> None:
        """Store a job and report it."""
        self.store.add(replace(job, environment=self.environment), self.options.fresh)
        self.locks.release(trial.dataset, trial.split)
        reasons = sorted({f"{r.method}: {r.reason}" for r in job.records if r.status == "failed"})
        self.failed += bool(reasons)
        self.progress.advance(trial.name, self.cost(trial), "; ".join(reasons[:3]))
        if reasons and self.options.fail_fast:
            self.waiting.clear()
            self.suspects.clear()
            self.elsewhere.clear()


def run_plan(
    experiment: Experiment,
    plan: Plan,
    store: Jobs,
    environment: str,
    options: RunOptions,
    executor_of: Callable[[int], Executor],
    locks: FolderLocks,
) -> int:
    """Run the trials of a plan and return the number of jobs with a failed record."""
    cost = partial(plan.cost, experiment)
    total = sum(map(cost, plan.trials))
    for name in learners_of(experiment, plan):
        LEARNERS.find(name).prepare()
    with closing(Progress(len(plan.trials), total, options.quiet)) as progress:
        bare = replace(experiment, figures=())  # workers need no figures
        run = Run(bare, store, environment, options, executor_of, progress, cost, locks)
        run.waiting.extend(plan.trials)
        run.work()
    return run.failed


def learners_of(experiment: Experiment, plan: Plan) -> set[str]:
    """Return the names of the learners that the trials of a plan train or score."""
    names = set()
    for trial in plan.trials:
        task = experiment.info(trial.dataset).task
        names.add(dict(experiment.learners)[task].name)
        scored = (dict(method.scored_by).get(task) for method in trial.methods)
        names |= {choice.name for choice in scored if choice}
    return names
