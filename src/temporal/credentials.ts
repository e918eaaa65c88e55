import { readVariableAgain } from '../config.ts';

const LOOK_EVERY_MS = 5_000;
const CERTIFICATES = [
  'TEMPORAL_TLS_CA',
  'TEMPORAL_TLS_CERT',
  'TEMPORAL_TLS_KEY',
] as const;

/**
 * Returns the API key of TEMPORAL_API_KEY_FILE as it is now, or always the
 * given one if that did not come from the file.
 */
export function latestApiKey(given: string): () => string {
  if (readVariableAgain('TEMPORAL_API_KEY') !== given) return () => given;
  let latest = given;
  let lookedAt = Date.now();
  return () => {
    if (Date.now() - lookedAt >= LOOK_EVERY_MS) {
      lookedAt = Date.now();
      latest = readVariableAgain('TEMPORAL_API_KEY') ?? latest;
    }
    return latest;
  };
}

/** Calls `use` with each new API key that TEMPORAL_API_KEY_FILE gets. */
export function onNewApiKey(
  given: string,
  use: (apiKey: string) => Promise<void>,
): void {
  const latest = latestApiKey(given);
  let used = given;
  setInterval(() => {
    const apiKey = latest();
    if (apiKey === used) return;
    used = apiKey;
    // After the connection was closed.
    void use(apiKey).catch(() => undefined);
  }, LOOK_EVERY_MS).unref();
}

/**
 * Resolves when a file with a certificate or key for Temporal has been
 * replaced. Connections cannot take a new certificate, so the process then ends
 * in order, and its supervisor starts it with the new one. Never resolves
 * without such files.
 */
export function certificatesReplaced(): Promise<void> {
  const now = () => CERTIFICATES.map((name) => readVariableAgain(name));
  const before = now();
  return new Promise((resolve) => {
    if (before.every((pem) => pem === undefined)) return;
    const timer = setInterval(() => {
      const after = now();
      // A pair is replaced file by file; an unreadable one is being written.
      if (after.some((pem, i) => pem === undefined && before[i] !== undefined))
        return;
      if (after.every((pem, i) => pem === before[i])) return;
      clearInterval(timer);
      setTimeout(resolve, LOOK_EVERY_MS).unref();
    }, LOOK_EVERY_MS).unref();
  });
}
