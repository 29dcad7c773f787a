"""Settings of the site, read from the environment; `.env.example` documents each variable."""

import importlib.metadata
import os
from pathlib import Path

from croniter import croniter
from django.core.management.utils import get_random_secret_key

from recall_site import data_folder, environment, postgres

ROOT = data_folder.ROOT
DATA = data_folder.location()
VERSION = importlib.metadata.version("recall")

# Each process keeps its counters in a file here; prometheus_client reads the path from this variable only.
METRICS = DATA / "metrics"
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS)

DEBUG = environment.read_flag("DEBUG", default=False)
# start.ensure_secret_key has created the key; only tests and type checks come here without one.
SECRET_KEY = (
    environment.read_str("SECRET_KEY") or data_folder.read_secret(DATA, "secret_key") or get_random_secret_key()
)
ALLOWED_HOSTS = environment.read_list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = environment.read_origins("CSRF_TRUSTED_ORIGINS")
TRUST_PROXY = environment.read_flag("TRUST_PROXY", default=False)

HOST = environment.read_str("HOST", "127.0.0.1")
PORT = environment.read_int("PORT", 8000, low=1, high=65535)
WORKERS = environment.read_int("WORKERS", 2, low=1, high=64)
THREADS = environment.read_int("THREADS", 8, low=1, high=256)
RECALL_DEMO = environment.read_flag("RECALL_DEMO", default=True)
RECALL_PASSWORD = environment.read_str("RECALL_PASSWORD")
RECALL_WORKER = environment.read_flag("RECALL_WORKER", default=True)
RECALL_REFLECT_AT = environment.read_str("RECALL_REFLECT_AT", "17 3 * * *")
if RECALL_REFLECT_AT != "off" and not (len(RECALL_REFLECT_AT.split()) == 5 and croniter.is_valid(RECALL_REFLECT_AT)):
    raise environment.invalid_variable(
        "RECALL_REFLECT_AT", "a cron expression of five fields like 17 3 * * *, or off", RECALL_REFLECT_AT
    )

# Provider names are checked by memories.providers.provider_settings when the app is ready.
RECALL_EMBEDDER = environment.read_str("RECALL_EMBEDDER", "all-MiniLM-L6-v2")
RECALL_EMBED_THREADS = environment.read_int("RECALL_EMBED_THREADS", 0, low=0, high=256)
RECALL_JUDGE = environment.read_str("RECALL_JUDGE", "rules")
RECALL_EXTRACTOR = environment.read_str("RECALL_EXTRACTOR", "rules")
RECALL_ENTITIES = environment.read_str("RECALL_ENTITIES", "rules")
RECALL_RERANKER = environment.read_str("RECALL_RERANKER", "maxsim")
if RECALL_RERANKER != "maxsim":  # a folder
    RECALL_RERANKER = str(ROOT / Path(RECALL_RERANKER).expanduser())
RECALL_RERANKER_MS = environment.read_int("RECALL_RERANKER_MS", 2_000, low=1, high=60_000)
RECALL_TRACE_PERCENT = environment.read_int("RECALL_TRACE_PERCENT", 100, low=0, high=100)
RECALL_TRACE_DAYS = environment.read_int("RECALL_TRACE_DAYS", 90, low=1, high=20_000)
RECALL_RETRIEVER_MS = environment.read_int("RECALL_RETRIEVER_MS", 500, low=1, high=60_000)
# For clients (manage.py mcp), not for the site itself.
RECALL_URL = environment.read_str("RECALL_URL", f"http://127.0.0.1:{PORT}")
RECALL_NAMESPACE = environment.read_str("RECALL_NAMESPACE")
RECALL_KEY = environment.read_str("RECALL_KEY")
RECALL_METRICS_TOKEN = environment.read_str("RECALL_METRICS_TOKEN")
OPENAI_BASE_URL = environment.read_str("OPENAI_BASE_URL", "https://api.openai.com/v1")
OPENAI_API_KEY = environment.read_str("OPENAI_API_KEY")
OPENAI_TIMEOUT = environment.read_int("OPENAI_TIMEOUT", 30, low=1, high=600)  # seconds
OPENAI_PARALLEL = environment.read_int("OPENAI_PARALLEL", 8, low=1, high=64)  # concurrent requests
OPENAI_EMBED_LIMIT = environment.read_int("OPENAI_EMBED_LIMIT", 8191, low=64, high=1_000_000)  # tokens

DATABASE = environment.read_database_url("DATABASE_URL")
EMBEDDED_POSTGRES = DATABASE is None
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        # One connection per thread, replaced if it has died.
        "CONN_MAX_AGE": 600,  # seconds
        "CONN_HEALTH_CHECKS": True,
        **(DATABASE or postgres.embedded_database_settings(DATA)),
    }
}
DATABASES["default"]["OPTIONS"] = {"connect_timeout": 5, **DATABASES["default"]["OPTIONS"]}  # seconds
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A machine that sleeps at night runs the nightly jobs in the morning.
PROCRASTINATE_PERIODIC_DEFAULTS = {"max_delay": 12 * 3600}  # seconds
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = ""
PROCRASTINATE_IMPORT_PATHS = ["memories.jobs.tasks"]

# Per process: failed sign-ins, and the positions of drawn graphs.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "template_partials",
    "procrastinate.contrib.django",
    "scoring",
    "memories",
    "recall_site",
]
MIDDLEWARE = [
    "memories.web.middleware.assign_request_id",
    "memories.web.prometheus.count_requests",
    "memories.web.middleware.add_content_security_policy",
    "memories.web.middleware.ApiGZipMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "memories.web.problems.explain_form_urls",
]
ROOT_URLCONF = "recall_site.urls"
WSGI_APPLICATION = "recall_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memories.web.layout.layout_context",
            ]
        },
    }
]

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
# Scrypt costs memory as well, and a tenth of the time of Django's default.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# An https origin means that Recall is served behind TLS.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = any(origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS)
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SESSION_COOKIE_SECURE else 0  # sent over TLS only
# Any client can send this header, so it is trusted only behind a proxy that overwrites it.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUST_PROXY else None
CSRF_FAILURE_VIEW = "memories.web.problems.csrf_failure"

USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [ROOT / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "recall_site.static_files.PackageFileFinder",
]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # half as many files to compress
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "recall_site.static_files.ModuleManifestStorage"
    },
}

RECALL_RATE = environment.read_rate("RECALL_RATE", "6000/minute")
API_BODY_LIMIT = 1_000_000  # bytes
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memories.api.parsers.StrictJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "memories.web.problems.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Recall",
    "DESCRIPTION": "Store an agent's memories, retrieve them, and see where every number came from.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_INCLUDE_SCHEMA": False,
    "SCHEMA_PATH_PREFIX": "/api/v1/",
    "ENFORCE_NON_BLANK_FIELDS": True,
    # One schema name for enums that several fields share.
    "ENUM_NAME_OVERRIDES": {
        "SourceLevel": "memories.models.choices.SourceLevel.values",
        "MemoryKind": "memories.models.choices.Kind.values",
        "MemoryType": "memories.models.choices.MemoryType.values",
        "EdgeKind": "memories.models.choices.EdgeKind.values",
        "QueryKind": "memories.models.choices.QueryKind.values",
        "TurnRole": "memories.models.choices.TurnRole.values",
        "Grounding": "memories.models.choices.Grounding.values",
        "OutcomeWord": ["stored", "merged", "escalated", "rejected"],
        "OutcomeOfMany": ["stored", "merged", "escalated", "rejected", "refused"],
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "persistAuthorization": False, "validatorUrl": None},
}

LOG_LEVEL = environment.read_choice("LOG_LEVEL", "WARNING", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "memories.web.middleware.RequestIdFilter"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "filters": ["request_id"], "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Django's own handlers would mail ADMINS and log everything twice.
    "loggers": {"django": {"handlers": [], "level": LOG_LEVEL}},
}
