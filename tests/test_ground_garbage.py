"""What a worker has loaded is not looked through for garbage."""

import subprocess
import sys

PROGRAM = """
import gc
loaded = [[number] for number in range(1000)]
from recall_site.garbage import SEARCHED_AFTER, leave_what_is_loaded
leave_what_is_loaded()
assert gc.get_freeze_count() > 1000
assert not any(one is loaded for one in gc.get_objects())
assert gc.get_threshold()[0] == SEARCHED_AFTER and gc.isenabled()
"""


def test_what_is_loaded_stays_and_new_garbage_is_still_found() -> None:
    # A process of its own: nothing here should go on without being looked through.
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
