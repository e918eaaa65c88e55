import type { z } from 'zod';
import type { FieldError } from '../errors.ts';

type Issue = z.core.$ZodIssue;

/** What a caller reads of a failed check: one entry per mistake, with its path as in `address[0].zip`. */
export function fieldErrors(issues: readonly Issue[]): FieldError[] {
  return issues.flatMap((issue) => flatten(issue, []));
}

/**
 * A union reports what is wrong by each of its forms. The form that got furthest is the one the caller meant:
 * a form of another type altogether (`expected array`) says nothing helpful.
 */
function flatten(issue: Issue, parents: readonly PropertyKey[]): FieldError[] {
  const path = [...parents, ...issue.path];
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const meant = issue.errors.filter((form) => !form.every((found) => isWrongType(found)));
    if (meant.length === 1) return (meant[0] ?? []).flatMap((found) => flatten(found, path));
  }
  if (issue.code === 'invalid_key') return issue.issues.flatMap((found) => flatten(found, path));
  return [{ path: formatPath(path), message: messageOf(issue, path) }];
}

const isWrongType = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.path.length === 0;

function messageOf(issue: Issue, path: readonly PropertyKey[]): string {
  const isMissing = issue.code === 'invalid_type' && / received (undefined|null)$/.test(issue.message);
  if (isMissing && path.length === 0) return 'a JSON body is required';
  if (isMissing && issue.message.endsWith('undefined')) return `${String(path.at(-1))} is required`;
  return issue.message.replace(/^Invalid input: /, '');
}

/** `['address', 0, 'zip']` → `address[0].zip` */
export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}
