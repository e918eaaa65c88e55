import {
  Connection,
  type ConnectionOptions,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';

type Interceptor = NonNullable<ConnectionOptions['interceptors']>[number];
type Call = NonNullable<ReturnType<Parameters<Interceptor>[1]>>;
type CallStatus = Parameters<
  ReturnType<typeof defaultGrpcRetryOptions>['retryableDecider']
>[1];

/**
 * A connection that may be closed while a call waits for its retry; the call
 * then fails with its last error. (The SDK alone would make that call on the
 * closed connection, which throws in a timer, where nothing can catch it.) With
 * `lazy`, it connects at the first call; otherwise this throws when the server
 * cannot be reached.
 */
export async function openConnection(
  options: ConnectionOptions,
  { lazy = false }: { lazy?: boolean } = {},
): Promise<Connection> {
  const usual = defaultGrpcRetryOptions();
  let isClosed = false;
  const retries: Interceptor = (call, nextCall) => {
    let failure: CallStatus | undefined;
    const retry = makeGrpcRetryInterceptor({
      ...usual,
      retryableDecider(attempt, status) {
        failure = status;
        return !isClosed && usual.retryableDecider(attempt, status);
      },
    });
    return retry(call, (again) =>
      isClosed && failure !== undefined ? failedCall(failure) : nextCall(again),
    );
  };
  const withRetries = { ...options, interceptors: [retries] };
  const connection = lazy
    ? Connection.lazy(withRetries)
    : await Connection.connect(withRetries);
  const close = connection.close.bind(connection);
  connection.close = () => {
    isClosed = true;
    return close();
  };
  return connection;
}

/**
 * Stands for a call on a connection that is closed: it ends at once, as the
 * call before it did.
 */
function failedCall(status: CallStatus): Call {
  const nothing = () => undefined;
  return {
    start: (_metadata, listener) => listener?.onReceiveStatus?.(status),
    sendMessage: nothing,
    sendMessageWithContext: nothing,
    halfClose: nothing,
    startRead: nothing,
    cancelWithStatus: nothing,
    getPeer: () => '',
    getAuthContext: () => null,
  };
}

/**
 * Does this work on a connection of its own; the connecting and the work may
 * each take so long.
 */
export async function withConnection<T>(
  address: string,
  timeoutMs: number,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await openConnection({
    address,
    connectTimeout: timeoutMs,
  });
  try {
    return await connection.withDeadline(Date.now() + timeoutMs, () =>
      work(connection),
    );
  } finally {
    await connection.close();
  }
}
