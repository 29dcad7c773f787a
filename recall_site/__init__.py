"""The site: settings, URLs, server and embedded Postgres."""

import os

# The matrices are small: BLAS threads gain nothing and compete with the database and the embedder for cores.
# Read once, when numpy is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
