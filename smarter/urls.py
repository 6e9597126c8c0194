"""The composition root of HTTP: the API, the checks of load balancers, metrics, and a page that says what this is."""

from django.urls import include, path

from smarter.apps.api import problems
from smarter.apps.api.views import health

urlpatterns = [
    path("", health.index, name="index"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("", include("django_prometheus.urls")),
    path("api/v1/", include("smarter.apps.api.urls")),
]

handler400 = problems.bad_request
handler403 = problems.permission_denied
handler404 = problems.page_not_found
handler500 = problems.server_error
