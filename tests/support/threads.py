"""Jobs that run at the same time."""

from threading import Thread


def run_together(*jobs):
    """Run jobs at the same time; what any of them raises is raised here."""
    failures = []

    def guarded(job):
        try:
            job()
        except BaseException as problem:
            failures.append(problem)
            raise

    threads = [Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
