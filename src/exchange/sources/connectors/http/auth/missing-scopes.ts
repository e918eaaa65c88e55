/** `system/Patient.rs` as its context, type and the permissions that it includes; SMART 1's read is rs, its write cud. */
function parse(scope: string): { context: string; type: string; permissions: string } | undefined {
  const [, context, type, permission] =
    /^(system|user|patient)\/(\w+|\*)\.(\w+|\*)(?:\?.*)?$/.exec(scope) ?? [];
  if (context === undefined || type === undefined || permission === undefined) return undefined;
  const permissions = { read: 'rs', write: 'cud', '*': 'cruds' }[permission] ?? permission;
  return { context, type, permissions };
}

/**
 * The scopes that were asked for and that the granted ones do not include, in their order. Without an answer (`granted`
 * undefined), OAuth says that all were granted.
 */
export function missingScopes(asked: string, granted: string | undefined): string[] {
  if (granted === undefined) return [];
  const words = granted.split(/\s+/).filter(Boolean);
  const permitted = words.flatMap((word) => parse(word) ?? []);
  return asked
    .split(/\s+/)
    .filter(Boolean)
    .filter((scope) => {
      const wanted = parse(scope);
      if (wanted === undefined || words.includes(scope)) return !words.includes(scope);
      const covering = permitted.filter(
        ({ context, type }) => context === wanted.context && (type === '*' || type === wanted.type),
      );
      return [...wanted.permissions].some(
        (permission) => !covering.some(({ permissions }) => permissions.includes(permission)),
      );
    });
}
