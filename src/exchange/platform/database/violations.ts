/** Another thing of the account has this name. */
export class NameTakenError extends Error {
  override readonly name = 'NameTakenError';
}

/** Whether the database refused a statement because of this constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return (error as { constraint?: unknown } | null)?.constraint === constraint;
}
