"""The reconciler, whose main thread stands still from SIGUSR1 to SIGUSR2 while the others run."""

import signal

from kudo_reconciler.__main__ import main


def stand_still(*_: object) -> None:
    # Runs in the main thread, wherever its loop is; the interpreter is free meanwhile.
    signal.sigwait({signal.SIGUSR2})


if __name__ == "__main__":
    # Before there are other threads, which inherit it: the signal waits for whoever asks for it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR2})
    signal.signal(signal.SIGUSR1, stand_still)
    main()
