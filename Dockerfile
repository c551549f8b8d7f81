# Build:  docker build --build-arg VERSION=0.1.0 --build-arg REVISION="$(git rev-parse HEAD)" -t hookline:0.1.0 .
# Any image with CPython 3.11 to 3.13 and pip will do for PYTHON_IMAGE. RUNTIME_IMAGE may be one without a shell or pip,
# if its interpreter has the same version and path.
ARG PYTHON_IMAGE=docker.io/library/python:3.13-slim
ARG RUNTIME_IMAGE=${PYTHON_IMAGE}

FROM ${PYTHON_IMAGE} AS wheels
WORKDIR /src
COPY requirements/run.txt requirements/run.txt
RUN python -m pip wheel --no-cache-dir --require-hashes --no-deps --wheel-dir /wheels/run --requirement requirements/run.txt
COPY deploy/build-requirements.txt deploy/build-requirements.txt
RUN python -m pip install --no-cache-dir --require-hashes --requirement deploy/build-requirements.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m pip wheel --no-cache-dir --no-build-isolation --no-deps --wheel-dir /wheels/hookline .

FROM ${PYTHON_IMAGE} AS install
COPY --from=wheels /wheels /wheels
RUN python -m venv --without-pip /opt/hookline \
 && python -m pip --python /opt/hookline/bin/python install --no-cache-dir --no-index --no-deps --compile /wheels/run/*.whl /wheels/hookline/*.whl \
 && mkdir /opt/hooks \
 && /opt/hookline/bin/python -c "import pathlib, sysconfig; pathlib.Path(sysconfig.get_path('purelib'), 'hooks.pth').write_text('/opt/hooks\n')" \
 && python -m pip --python /opt/hookline/bin/python check

FROM ${RUNTIME_IMAGE} AS runtime
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="hookline" \
      org.opencontainers.image.description="Durable hook events on Kafka: one CloudEvents envelope, many integrations, nothing lost." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=install /opt/hookline /opt/hookline
COPY --from=install /opt/hooks /opt/hooks
ENV PATH=/opt/hookline/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
WORKDIR /
USER 65532:65532
EXPOSE 8190
STOPSIGNAL SIGTERM
ENTRYPOINT ["hookline"]
CMD ["run", "--config", "/etc/hookline/hookline.toml"]
