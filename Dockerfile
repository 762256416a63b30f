# Two images: `basalt`, the program with Deno and nothing else, and `terrace`, the site of this repository on it. `make image`
# builds both, for the machine's own architecture; `docker buildx build --platform` for others (amd64, arm64).
#
# Versions of the base images are exact, lock files name everything else, and no layer installs from a distribution's
# packages: what was built today can be built again.

ARG DEBIAN=trixie-20260803-slim

# The client is the same for every architecture, and is built on the machine's own.
FROM --platform=$BUILDPLATFORM node:24.19.0-trixie-slim AS packages
WORKDIR /src
COPY .npmrc package.json package-lock.json ./
COPY client/package.json client/
COPY tests/package.json tests/
COPY tests/conformance/package.json tests/conformance/

FROM packages AS client
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --workspace client
COPY client client
COPY functions/_shared functions/_shared
RUN npm run build --workspace client

# Deno for the architecture of the image, which functions run on.
FROM packages AS deno
ARG TARGETARCH
RUN --mount=type=cache,target=/root/.npm \
    cpu=$(case "$TARGETARCH" in amd64) echo x64 ;; *) echo "$TARGETARCH" ;; esac) && \
    npm ci --ignore-scripts --omit=dev --workspaces=false --os=linux --cpu="$cpu" --libc=glibc && \
    cp "node_modules/@deno/linux-$cpu-glibc/deno" /deno

FROM rust:1.98.0-slim-trixie AS server
WORKDIR /src
COPY Cargo.toml Cargo.lock ./
COPY bench bench
COPY deploy/systemd deploy/systemd
COPY schema schema
COPY server server
COPY --from=client /src/client/dist client/dist
# The time of the client's files in the program.
ARG SOURCE_DATE_EPOCH
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package basalt && cp target/dist/basalt /basalt

FROM debian:${DEBIAN} AS basalt
# The authorities that servers of mail, providers and S3 are trusted by.
COPY --from=server /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=deno --chmod=755 /deno /usr/local/bin/deno
COPY --from=server /basalt /usr/local/bin/basalt
COPY LICENSE /usr/share/doc/basalt/
# Keys, caches and mails; with the embedded Postgres gone, nothing else is kept here.
RUN install --directory --owner 10001 --group 10001 --mode 700 /var/lib/basalt
WORKDIR /project
USER 10001:10001
ENV BASALT_HOST=0.0.0.0 BASALT_PROJECT=/project BASALT_DATA_DIR=/var/lib/basalt
EXPOSE 54321
VOLUME /var/lib/basalt
HEALTHCHECK --interval=5s --timeout=4s --start-period=60s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/54321 && printf 'GET /health/ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r answer <&3 && [[ $answer == *' 200 '* ]]"]
ENTRYPOINT ["basalt"]
CMD ["serve"]

FROM basalt AS terrace
COPY config.toml ./
COPY schema/site schema/site
COPY functions functions
COPY storage storage
