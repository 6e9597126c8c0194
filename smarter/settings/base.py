"""Django settings that hold everywhere. dev, test and prod import them and say what differs."""

from pathlib import Path

import structlog
from kombu import Queue

from smarter.settings.environment import SmarterSettings, database_from_url

SMARTER = SmarterSettings()
BASE_DIR = Path(__file__).resolve().parents[2]

SECRET_KEY = SMARTER.secret_key.get_secret_value()
DEBUG = False
ALLOWED_HOSTS = [host for host in SMARTER.allowed_hosts.split(",") if host]
ROOT_URLCONF = "smarter.urls"
WSGI_APPLICATION = "smarter.wsgi.application"
AUTH_USER_MODEL = "accounts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
APPEND_SLASH = False
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.postgres",
    "django_prometheus",
    "django_structlog",
    "rest_framework",
    "drf_spectacular",
    "smarter.apps.accounts",
    "smarter.apps.secrets",
    "smarter.apps.clusters",
    "smarter.apps.resources",
    "smarter.apps.costs",
    "smarter.apps.reconcile",
    "smarter.apps.api",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "smarter.apps.api.middleware.ProblemMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]

DATABASES = {
    "default": {
        **database_from_url(SMARTER.database_url.get_secret_value()),
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": 60,
        # A query that takes longer than this is a fault, and must not hold a worker.
        "OPTIONS": {"connect_timeout": 3, "options": "-c statement_timeout=10s -c lock_timeout=5s"},
    }
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["smarter.apps.accounts.authentication.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "smarter.apps.api.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Smarter",
    "DESCRIPTION": "Multi-tenant control plane for self-hosted language models.",
    "VERSION": "v1",
    "SERVE_INCLUDE_SCHEMA": False,
}

# Celery: the database holds the work and a message is only a hint, so every setting here is about waiting less and
# never about safety. The figures were measured: a killed worker's message comes back within 16 s instead of 100 s.
CELERY_BROKER_URL = SMARTER.broker_url.get_secret_value()
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 120,
    "unacked_restore_interval": 5,
    "unacked_restore_throttle": 1,
    "socket_connect_timeout": 2,
    "socket_timeout": 10,
    "max_retries": 1,
}
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_SOFT_TIME_LIMIT = 50
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
# Two queues that every worker takes from in turn: the observation of clusters must not wait behind a burst of hints.
CELERY_TASK_QUEUES = (Queue("celery"), Queue("observe"))
CELERY_TASK_ROUTES = {"smarter.reconcile.observe_due": {"queue": "observe"}}
CELERY_BEAT_SCHEDULE = {
    "ask": {"task": "smarter.reconcile.ask_due", "schedule": SMARTER.poll_slow_seconds / 3, "options": {"expires": 10}},
    "sweep": {"task": "smarter.reconcile.sweep", "schedule": SMARTER.poll_fast_seconds, "options": {"expires": 10}},
    "observe": {
        "task": "smarter.reconcile.observe_due",
        "schedule": SMARTER.poll_fast_seconds,
        "options": {"expires": 10},
    },
}

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.filter_by_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": structlog.stdlib.ProcessorFormatter,
            # JSON escapes line breaks and control characters, so a name cannot forge a log line.
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
            "foreign_pre_chain": [structlog.stdlib.add_logger_name, structlog.stdlib.add_log_level],
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["stderr"], "level": SMARTER.log_level},
}
