/** The name is already used by another object of the account. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError';
}

/** Whether a statement failed because it violates this constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return (error as { constraint?: unknown } | null)?.constraint === constraint;
}
