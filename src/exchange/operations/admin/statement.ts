import { AdminError } from './command.ts';

/** An operator's statement about a command, kept in the audit for good. */
export interface Statement {
  by: string;
  reason: string;
}

const STATEMENT_LENGTH_MAX = 500;

export function checkedStatement({ by, reason }: Statement): Statement {
  const statement = { by: by.trim(), reason: reason.trim() };
  for (const [option, text] of Object.entries(statement))
    if (text.length === 0 || text.length > STATEMENT_LENGTH_MAX)
      throw new AdminError(
        `--${option} must have 1 to ${STATEMENT_LENGTH_MAX} characters and must not contain patient data`,
      );
  return statement;
}
