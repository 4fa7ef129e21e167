# The service in one image: web server, worker and commands. docs/operations.md says how to run it.
#
#     docker build --tag ragsite .
#
# The default command starts everything with the embedded database, to try it; compose.yaml runs web
# server and worker separately, with PostgreSQL beside them.
ARG PYTHON_VERSION=3.11

FROM python:${PYTHON_VERSION}-slim-bookworm AS packages
# The package index to take torch from; blank: its CPU build (requirements/install_torch.py).
ARG TORCH_INDEX=""
ENV PIP_NO_CACHE_DIR=1 \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore
WORKDIR /build
COPY requirements requirements
RUN python -m venv /opt/venv \
 && /opt/venv/bin/python -m pip install --upgrade "pip>=25"
RUN TORCH_INDEX="${TORCH_INDEX}" /opt/venv/bin/python requirements/install_torch.py
RUN /opt/venv/bin/python -m pip install --require-hashes --no-deps -r requirements/locked.txt

FROM python:${PYTHON_VERSION}-slim-bookworm
# tini reaps what a killed reader leaves behind; outbound TLS trusts the system's certificates.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates tini \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 ragsite \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/ragsite \
      --shell /usr/sbin/nologin ragsite \
 && install --directory --owner=10001 --group=10001 --mode=0711 /var/lib/ragsite \
 && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/ragsite/storage
COPY --from=packages /opt/venv /opt/venv
# The code belongs to root and cannot be changed by the service.
COPY . /opt/ragsite
WORKDIR /opt/ragsite
RUN /opt/venv/bin/python -m compileall -q documents evaluation ragsite retrieval
ENV PATH="/opt/venv/bin:${PATH}" \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    RAGSITE_HOME=/var/lib/ragsite \
    HOST=0.0.0.0 \
    PORT=8000 \
    LOG_FORMAT=json
USER 10001:10001
EXPOSE 8000
# The supervisor needs up to 15 seconds to stop its programs: docker stop --time 30.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=180s --start-interval=5s --retries=3 \
  CMD ["python", "-m", "ragsite.service.probe", "web"]
ENTRYPOINT ["tini", "--"]
CMD ["python", "manage.py", "up"]
