import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';

/** From the last retry of a call to its response, where the server refuses. */
const LAST_ANSWER_MS = 100;

/**
 * A connection that may be closed while a call waits for its retry; the call then fails with its last error. (The SDK alone would
 * make that call on the closed connection, which throws in a timer, where nothing can catch it.) With `lazy`, it connects at the
 * first call; otherwise this throws when the server cannot be reached.
 */
export async function openConnection(
  options: ConnectionOptions,
  { lazy = false }: { lazy?: boolean } = {},
): Promise<Connection> {
  const usual = defaultGrpcRetryOptions();
  let isClosed = false;
  let lastRetryAt = 0;
  const retries = makeGrpcRetryInterceptor({
    retryableDecider: (attempt, status) => !isClosed && usual.retryableDecider(attempt, status),
    delayFunction(attempt, status) {
      const delayMs = usual.delayFunction(attempt, status);
      lastRetryAt = Math.max(lastRetryAt, Date.now() + delayMs);
      return delayMs;
    },
  });
  const withRetries = { ...options, interceptors: [retries] };
  const connection = lazy ? Connection.lazy(withRetries) : await Connection.connect(withRetries);
  const close = connection.close.bind(connection);
  connection.close = async () => {
    isClosed = true;
    const untilRetryMs = lastRetryAt - Date.now();
    if (untilRetryMs < 0) return close();
    setTimeout(() => void close(), untilRetryMs + LAST_ANSWER_MS).unref();
  };
  return connection;
}

/** Does this work on a connection of its own; the connecting and the work may each take so long. */
export async function withConnection<T>(
  address: string,
  timeoutMs: number,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await openConnection({ address, connectTimeout: timeoutMs });
  try {
    return await connection.withDeadline(Date.now() + timeoutMs, () => work(connection));
  } finally {
    await connection.close();
  }
}
