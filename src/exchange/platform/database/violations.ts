/** The name is already used by another object of the account. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError';
}

/** Whether PostgreSQL refused the data itself, error classes 22 (data exception) and 54 (limit exceeded): a retry cannot succeed. */
export function isRefusedData(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^(22|54)[0-9A-Z]{3}$/.test(code);
}

/** Whether a statement failed because it violates this constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return (error as { constraint?: unknown } | null)?.constraint === constraint;
}
