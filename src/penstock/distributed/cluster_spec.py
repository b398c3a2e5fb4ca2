"""`ClusterSpec`: the jobs of a distributed program and the addresses of their tasks."""

from collections.abc import Mapping
from typing import Any

from penstock.proto import cluster_pb2

Address = str
Tasks = dict[int, Address]


class ClusterSpec:
    """Jobs by name, each a list of addresses, or a mapping from task index to address.

    Args:
      cluster: a mapping from job name to tasks, a ClusterDef message, or another ClusterSpec.

    Raises:
      TypeError: it is none of these, or a name or address is no text.
      ValueError: a task index is no integer.

    Example:
      >>> spec = ClusterSpec({"worker": ["a:2222", "b:2222"], "ps": {3: "c:2222"}})
      >>> spec.num_tasks("worker"), spec.task_indices("ps")
      (2, [3])
    """

    def __init__(self, cluster: Any) -> None:
        self._jobs: dict[str, Tasks] = {}
        if isinstance(cluster, ClusterSpec):
            self._jobs = {job: dict(tasks) for job, tasks in cluster._jobs.items()}
        elif isinstance(cluster, Mapping):
            self._jobs = {job: _tasks(job, tasks) for job, tasks in cluster.items()}
        elif isinstance(cluster, cluster_pb2.ClusterDef):
            self._jobs = {j.name: dict(sorted(j.tasks.items())) for j in cluster.job}
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network"
                " addresses, or a `ClusterDef` protocol buffer. Received a"
                f" {type(cluster).__name__}: {cluster!r}"
            )
        for job in self._jobs:
            if not isinstance(job, str | bytes):
                raise TypeError(f"A job needs a name: expected text, got {job!r}. Use a string.")

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        found = self.as_dict()
        return f"ClusterSpec({{{', '.join(f'{j!r}: {found[j]!r}' for j in sorted(found))}}})"

    def as_dict(self) -> dict[str, Any]:
        """Job name -> list of addresses; index -> address where indices have gaps."""
        return {
            job: list(tasks.values()) if tasks and list(tasks) == list(range(len(tasks))) else tasks
            for job, tasks in ((job, dict(sorted(t.items()))) for job, t in self._jobs.items())
        }

    def as_cluster_def(self) -> cluster_pb2.ClusterDef:
        """The cluster as a ClusterDef message, jobs by name."""
        message = cluster_pb2.ClusterDef()
        for job in sorted(self._jobs):
            made = message.job.add(name=job)
            for index, address in sorted(self._jobs[job].items()):
                made.tasks[index] = address
        return message

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """The number of tasks of a job; raises ValueError when there is no such job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """The indices of a job's tasks, in order; raises ValueError when there is no such job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> Address:
        """The address of a task.

        Args:
          job_name: the job.
          task_index: the number of the task in it.

        Raises:
          ValueError: there is no such job or task.
        """
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(
                f"No task with index {task_index} in job {job_name!r}. Its tasks are"
                f" {sorted(tasks)}."
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[Address | None]:
        """The addresses of a job's tasks by index, None in gaps; ValueError without such a job."""
        tasks = self._job(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def _job(self, job_name: str) -> Tasks:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}. Its jobs are {self.jobs}.")
        return self._jobs[job_name]


def _tasks(job: str, tasks: Any) -> Tasks:
    if isinstance(tasks, list | tuple):
        found = dict(enumerate(tasks))
    elif isinstance(tasks, Mapping):
        found = {}
        for index, address in tasks.items():
            try:
                found[int(index)] = address
            except (TypeError, ValueError) as problem:
                raise ValueError(
                    f"Job {job!r}: expected task indices that are integers, got {index!r}."
                    " Number the tasks."
                ) from problem
    else:
        raise TypeError(
            f"Job {job!r}: expected a list of addresses or a dictionary from index to address, got"
            f" {type(tasks).__name__}: {tasks!r}. Put a single address into a list."
        )
    for index, address in found.items():
        if not isinstance(address, str | bytes):
            raise TypeError(
                f"Job {job!r}, task {index}: expected an address as text, got {address!r}."
                " Write it as 'host:port'."
            )
    return found
