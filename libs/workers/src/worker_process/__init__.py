"""The program of a worker process; `python -I -m worker_process` is started by `workers`.

It imports as little as it can (no asyncio, nothing of `workers`): there are several of these
processes in each pod, and each start is paid for again when a limit has ended one.
"""
