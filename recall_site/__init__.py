"""The site around memories and formulas."""

import os

# The products here are small: threads of the linear algebra would gain nothing, and spin on the cores that the database
# and the embedder need. It is read once, when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
