#!/bin/sh
# Creates the namespace, sets the retention of closed workflows, and registers the search attributes. Safe to run again.
# The CLI reads TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE too.
set -eu

tries=0
until temporal operator cluster health; do
  tries=$((tries + 1))
  if [ "$tries" -ge 60 ]; then
    echo "Temporal at $TEMPORAL_ADDRESS did not become healthy" >&2
    exit 1
  fi
  sleep 2
done

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# Repeated, because a new namespace takes some seconds to reach all parts of the server. Existing attributes are kept.
attributes="AccountId=Keyword RequestId=Keyword QueryStatus=Keyword Sources=KeywordList"
tries=0
for attribute in $attributes; do
  until temporal operator search-attribute create --name "${attribute%=*}" --type "${attribute#*=}"; do
    tries=$((tries + 1))
    if [ "$tries" -ge 30 ]; then exit 1; fi
    sleep 2
  done
done
