"""Settings of the computers that tasks are sent to."""

from typing import Annotated

from pydantic import Field

from ethomarkov.study.checked import CheckedSettings

MOST_WORKERS = 10_000

Count = Annotated[int, Field(ge=1, le=MOST_WORKERS)]
Memory = Annotated[str, Field(pattern=r"^\d+(\.\d+)? ?[kMGT]i?B$")]
Walltime = Annotated[str, Field(pattern=r"^(\d+-)?\d+:[0-5]\d:[0-5]\d$")]


class ClusterSettings(CheckedSettings):
    """What a cluster is asked for; what is empty is left to the cluster.

    Parameters
    ----------
    workers
        Processes that do tasks; on SLURM each is a job of its own. By default one per core here, and eight on SLURM.
    cores
        Of one SLURM job, which does as many tasks at once; a process here has one.
    memory
        Of one worker, as in "4GB". A worker that needs more is ended, and its task tried again.
    walltime
        Of one SLURM job, as in "04:00:00" or "2-00:00:00". Jobs that end before the work does are submitted again.
    queue
        SLURM partition.
    account
        To which SLURM charges the jobs.
    job_extra
        Further directives of a SLURM job, as in "--constraint=haswell".
    prologue
        Lines of the job's script before the worker starts, as in "module load python".
    log_directory
        Where SLURM jobs write what they say.
    interface
        Network through which SLURM jobs are reached, as in "ib0".
    scheduler_options
        Handed to the Dask scheduler of SLURM jobs, as in { port = 8786 }.
    retries
        How often a task is tried again after an error that is not about the data.
    """

    workers: Count | None = None
    cores: Count = 1
    memory: Memory = "4GB"
    walltime: Walltime = "04:00:00"
    queue: str = ""
    account: str = ""
    job_extra: tuple[str, ...] = ()
    prologue: tuple[str, ...] = ()
    log_directory: str = ""
    interface: str = ""
    scheduler_options: dict[str, str | int] = Field(default_factory=dict)
    retries: Annotated[int, Field(ge=0, le=1000)] = 3
