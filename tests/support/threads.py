"""Jobs that run at the same time."""

from threading import Event, Thread


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


def in_background(*jobs):
    """Run each job again and again, in a thread of its own, until `stop` is called.

    Returns how often each has ended so far, and `stop`, which waits for all of them.
    """
    ended, rounds = Event(), [0] * len(jobs)

    def repeat(number):
        while not ended.is_set():
            jobs[number]()
            rounds[number] += 1

    threads = [Thread(target=repeat, args=[k], daemon=True) for k in range(len(jobs))]
    for thread in threads:
        thread.start()

    def stop():
        ended.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)

    return rounds, stop
