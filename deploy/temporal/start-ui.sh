#!/bin/sh
# The codec server's path is a secret, so the address that the browser uses is composed here.
set -eu

TEMPORAL_CODEC_ENDPOINT="$CODEC_ORIGIN/$(cat /run/secrets/codec-path-secret)"
export TEMPORAL_CODEC_ENDPOINT
exec ./start-ui-server.sh
