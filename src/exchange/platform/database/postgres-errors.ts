/**
 * Whether the database cannot be used now. PostgreSQL classes 08 and 57P
 * (connection), 53 (it is full, or takes no more connections), 25006 (a standby
 * after a failover), 25P03 (this process stood still within a transaction);
 * error codes of sockets. A connection that broke within a transaction refuses
 * its roll back by message only.
 */
export function isConnectionFault(thrown: unknown): boolean {
  const code = String(
    (thrown as { code?: unknown } | null | undefined)?.code ?? '',
  );
  if (/^(08|53|57P0|25P03|25006)/.test(code) || SOCKET_FAULTS.test(code))
    return true;
  return thrown instanceof Error && CONNECTION_FAULTS.test(thrown.message);
}

/**
 * Whether PostgreSQL itself answered with an error, so that the transaction has
 * certainly not been committed: not when it went away, or the connection did.
 */
export function isRolledBack(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown } | null | undefined)?.code;
  return (
    typeof code === 'string' &&
    /^[0-9A-Z]{5}$/.test(code) &&
    !/^(08|57P|E)/.test(code)
  );
}

const SOCKET_FAULTS =
  /^(EMFILE|ENFILE|ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;
/**
 * What pg and its pool say of a connection that cannot be made, or that broke
 * before.
 */
const CONNECTION_FAULTS =
  /^(Connection terminated|Connection ended|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed)/;

/** The name is already used by another object of the account. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError';
}

/**
 * Whether PostgreSQL refused the data itself, error classes 22 (data exception)
 * and 54 (limit exceeded): a retry cannot succeed.
 */
export function isRefusedData(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(22|54)[0-9A-Z]{3}$/.test(code);
}

/** Whether a statement failed because it violates this constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return (error as { constraint?: unknown } | null)?.constraint === constraint;
}
