"""Commands of tools do not outlive a killed server (SECURITY-BAR I8)."""

import subprocess
import sys

from tests.server import ROOT, Deaths

CHILD = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from halo_site.lib import last_will
groups = []
for _ in range(3):
    command = subprocess.Popen(["sh", "-c", "sleep 300 & wait"], start_new_session=True)
    last_will.add(command.pid)
    groups.append(command.pid)
last_will.remove(groups[1])
print(*groups, flush=True)
sys.stdin.read()
"""


def test_groups_on_the_list_die_with_the_process_and_others_do_not():
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(ROOT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    first, spared, last = map(int, process.stdout.readline().split())
    deaths = Deaths([first, last])
    spared_death = Deaths([spared])
    process.kill()
    process.wait()
    deaths.wait()
    subprocess.run(["kill", "-0", str(spared)], check=True)
    subprocess.run(["kill", "-9", "--", f"-{spared}"], check=True)
    spared_death.wait()
