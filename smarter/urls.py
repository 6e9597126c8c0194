"""The composition root of HTTP."""

urlpatterns: list = []
