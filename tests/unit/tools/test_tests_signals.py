"""Tests below `nohup`, or in the background of a shell: what they start ends by signals."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
PROGRAM = """\
import os, signal, subprocess
from tests.support.signals import heed_ignored
heed_ignored()
os.kill(os.getpid(), signal.SIGHUP)
print(subprocess.check_output(["grep", "SigIgn", "/proc/self/status"], text=True))
"""


def test_what_tests_start_ignores_no_signal_and_they_survive_a_hangup() -> None:
    shell = ["sh", "-c", 'trap "" HUP INT; exec "$0" -c "$1"', sys.executable, PROGRAM]
    ran = subprocess.run(shell, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    ignored = int(ran.stdout.split()[1], 16)
    for number in (signal.SIGHUP, signal.SIGINT):
        assert not ignored & 1 << (number - 1)
