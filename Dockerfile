# One image for web, worker, beat and migrations, and for the fetch program that runs in pods.
FROM python:3.11-slim AS build
WORKDIR /app
COPY requirements.lock .
RUN python -m venv /venv && /venv/bin/pip install --no-cache-dir --require-hashes -r requirements.lock

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin smarter
WORKDIR /app
COPY --from=build /venv /venv
COPY manage.py LICENSE ./
COPY smarter ./smarter
ENV PATH=/venv/bin:$PATH PYTHONPATH=/app PYTHONUNBUFFERED=1 DJANGO_SETTINGS_MODULE=smarter.settings.prod
RUN python -m compileall -q smarter
USER 10001:10001
EXPOSE 8000
CMD ["gunicorn", "smarter.wsgi:application", "--worker-class", "gthread", "--workers", "2", "--threads", "4", \
     "--bind", "0.0.0.0:8000", "--max-requests", "10000", "--max-requests-jitter", "1000"]
