"""The addresses of the API. Kinds have none of their own: a kind is a parameter."""

from django.urls import path

from smarter.apps.api.openapi import DocumentView
from smarter.apps.api.views import about, apply, insight, manifests

urlpatterns = [
    path("openapi.json", DocumentView.as_view(), name="openapi"),
    path("apply", apply.ApplyView.as_view(), name="apply"),
    path("kinds", about.KindsView.as_view(), name="kinds"),
    path("kinds/<str:kind>/schema", about.SchemaView.as_view(), name="kind-schema"),
    path("kinds/<str:kind>/example", about.ExampleView.as_view(), name="kind-example"),
    path("whoami", about.WhoAmIView.as_view(), name="whoami"),
    path("version", about.VersionView.as_view(), name="version"),
    path("<str:plural>", manifests.ManifestsView.as_view(), name="manifests"),
    path("<str:plural>/<str:name>", manifests.ManifestView.as_view(), name="manifest"),
    path("<str:plural>/<str:name>/deploy", manifests.DeployView.as_view(), name="deploy"),
    path("<str:plural>/<str:name>/undeploy", manifests.UndeployView.as_view(), name="undeploy"),
    path("<str:plural>/<str:name>/logs", insight.LogsView.as_view(), name="logs"),
    path("<str:plural>/<str:name>/events", insight.EventsView.as_view(), name="events"),
    path("<str:plural>/<str:name>/objects", insight.ObjectsView.as_view(), name="objects"),
    path("<str:plural>/<str:name>/plan", insight.PlanView.as_view(), name="plan"),
]
