"""Settings of the site, read from the environment; `.env.example` tells what each variable does."""

import importlib.metadata
import os
from pathlib import Path

from croniter import croniter
from django.core.management.utils import get_random_secret_key

from memories.providers import embedder, language_model, recogniser, reranker
from recall_site import data_folder, environment, postgres

ROOT = data_folder.ROOT
DATA = data_folder.location()
VERSION = importlib.metadata.version("recall")

# Where every process keeps what it has counted; the library reads the variable, and only there.
METRICS = DATA / "metrics"
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS)

DEBUG = environment.flag("DEBUG", default=False)
# Every way in (start.py) has the key made and kept before; only tests and type checks come here without one.
SECRET_KEY = environment.text("SECRET_KEY") or data_folder.kept(DATA, "secret_key") or get_random_secret_key()
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = environment.origins("CSRF_TRUSTED_ORIGINS")
TRUST_PROXY = environment.flag("TRUST_PROXY", default=False)

HOST = environment.text("HOST", "127.0.0.1")
PORT = environment.number("PORT", 8000, low=1, high=65535)
WORKERS = environment.number("WORKERS", 2, low=1, high=64)
THREADS = environment.number("THREADS", 8, low=1, high=256)
RECALL_DEMO = environment.flag("RECALL_DEMO", default=True)
RECALL_PASSWORD = environment.text("RECALL_PASSWORD")
RECALL_WORKER = environment.flag("RECALL_WORKER", default=True)
RECALL_REFLECT_AT = environment.text("RECALL_REFLECT_AT", "17 3 * * *")
if RECALL_REFLECT_AT != "off" and not (len(RECALL_REFLECT_AT.split()) == 5 and croniter.is_valid(RECALL_REFLECT_AT)):
    raise environment.refusal("RECALL_REFLECT_AT", "five fields of cron like 17 3 * * *, or off", RECALL_REFLECT_AT)

RECALL_EMBEDDER = environment.text("RECALL_EMBEDDER", "all-MiniLM-L6-v2")
if not embedder.known(RECALL_EMBEDDER):
    raise environment.refusal("RECALL_EMBEDDER", f"one of {embedder.ALLOWED}", RECALL_EMBEDDER)
RECALL_EMBED_THREADS = environment.number("RECALL_EMBED_THREADS", 0, low=0, high=256)
RECALL_JUDGE = environment.text("RECALL_JUDGE", "rules")
RECALL_EXTRACTOR = environment.text("RECALL_EXTRACTOR", "rules")
for variable, came in {"RECALL_JUDGE": RECALL_JUDGE, "RECALL_EXTRACTOR": RECALL_EXTRACTOR}.items():
    if not language_model.known(came):
        raise environment.refusal(variable, language_model.ALLOWED, came)
RECALL_ENTITIES = environment.text("RECALL_ENTITIES", "rules")
if not recogniser.known(RECALL_ENTITIES):
    raise environment.refusal("RECALL_ENTITIES", recogniser.ALLOWED, RECALL_ENTITIES)
RECALL_RERANKER = environment.text("RECALL_RERANKER", reranker.MAXSIM)
if RECALL_RERANKER != reranker.MAXSIM:
    RECALL_RERANKER = str(ROOT / Path(RECALL_RERANKER).expanduser())
if not reranker.known(RECALL_RERANKER):
    raise environment.refusal("RECALL_RERANKER", reranker.ALLOWED, RECALL_RERANKER)
RECALL_RERANKER_MS = environment.number("RECALL_RERANKER_MS", 2_000, low=1, high=60_000)
RECALL_TRACE_PERCENT = environment.number("RECALL_TRACE_PERCENT", 100, low=0, high=100)
RECALL_TRACE_DAYS = environment.number("RECALL_TRACE_DAYS", 90, low=1, high=20_000)
RECALL_RETRIEVER_MS = environment.number("RECALL_RETRIEVER_MS", 500, low=1, high=60_000)
# For the programs that call a Recall (manage.py mcp), not for the site itself.
RECALL_URL = environment.text("RECALL_URL", f"http://127.0.0.1:{PORT}")
RECALL_NAMESPACE = environment.text("RECALL_NAMESPACE")
RECALL_KEY = environment.text("RECALL_KEY")
RECALL_METRICS_TOKEN = environment.text("RECALL_METRICS_TOKEN")
OPENAI_BASE_URL = environment.text("OPENAI_BASE_URL", "https://api.openai.com/v1")
OPENAI_API_KEY = environment.text("OPENAI_API_KEY")
OPENAI_TIMEOUT = environment.number("OPENAI_TIMEOUT", 30, low=1, high=600)  # seconds
OPENAI_PARALLEL = environment.number("OPENAI_PARALLEL", 8, low=1, high=64)  # requests at once
OPENAI_EMBED_LIMIT = environment.number("OPENAI_EMBED_LIMIT", 8191, low=64, high=1_000_000)  # tokens

DATABASE = environment.database("DATABASE_URL")
EMBEDDED_POSTGRES = DATABASE is None
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        # Each thread keeps its connection; one that died meanwhile is replaced.
        "CONN_MAX_AGE": 600,  # seconds
        "CONN_HEALTH_CHECKS": True,
        **(DATABASE or postgres.connection(DATA)),
    }
}
DATABASES["default"]["OPTIONS"] = {"connect_timeout": 5, **DATABASES["default"]["OPTIONS"]}  # seconds
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# A machine that sleeps at night does the night's work in the morning.
PROCRASTINATE_PERIODIC_DEFAULTS = {"max_delay": 12 * 3600}  # seconds

# Each worker's own: it counts failed sign-ins, a few bytes each.
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
]
MIDDLEWARE = [
    "recall_site.middleware.request_id",
    "recall_site.metrics.count_requests",
    "recall_site.middleware.content_security_policy",
    "recall_site.middleware.CompressedApi",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "recall_site.problems.forms_only",
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
                "recall_site.layout.frame",
            ]
        },
    }
]

LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "/"
# Scrypt costs memory as well as time, and a tenth of the time of Django's default.
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
# Whoever names an https origin serves Recall behind TLS.
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = any(origin.startswith("https://") for origin in CSRF_TRUSTED_ORIGINS)
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SESSION_COOKIE_SECURE else 0  # told where the request came by TLS
# Anybody can send this header, so it counts only behind a proxy that sets it itself.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUST_PROXY else None
CSRF_FAILURE_VIEW = "recall_site.problems.csrf_failure"

USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = "/static/"
STATIC_ROOT = DATA / "static"
STATICFILES_DIRS = [ROOT / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "recall_site.static_files.WheelFinder",
]
WHITENOISE_KEEP_ONLY_HASHED_FILES = True  # half the files to compress
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "recall_site.static_files.ModuleManifestStorage"
    },
}

RECALL_RATE = environment.rate("RECALL_RATE", "6000/minute")
API_BODY_LIMIT = 1_000_000  # bytes
REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memories.api.parsers.StrictJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.SessionAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "recall_site.problems.exception_handler",
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
    # One name for words that several fields share.
    "ENUM_NAME_OVERRIDES": {
        "SourceLevel": "memories.models.choices.SourceLevel.values",
        "MemoryKind": "memories.models.choices.Kind.values",
        "MemoryType": "memories.models.choices.MemoryType.values",
        "EdgeKind": "memories.models.choices.EdgeKind.values",
        "QueryKind": "memories.models.choices.QueryKind.values",
        "TurnRole": "memories.models.choices.TurnRole.values",
        "OutcomeWord": ["stored", "merged", "escalated", "rejected"],
        "OutcomeOfMany": ["stored", "merged", "escalated", "rejected", "refused"],
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "persistAuthorization": False, "validatorUrl": None},
}

LOG_LEVEL = environment.choice("LOG_LEVEL", "WARNING", ["DEBUG", "INFO", "WARNING", "ERROR"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request_id": {"()": "recall_site.middleware.RequestIdFilter"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s [%(request_id)s] %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "filters": ["request_id"], "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    # Django's own handlers would mail admins nobody named and print a second copy.
    "loggers": {"django": {"handlers": [], "level": LOG_LEVEL}},
}
