/**
 * A scope of SMART Backend Services that permits reading and searching, such as
 * `system/Observation.rs`.
 */
const SCOPE = /^system\/(\*|[A-Z][A-Za-z]+)\.(rs|read)$/;

/**
 * Permits a client to create, change and delete Subscriptions; what they are
 * told of depends on its other scopes.
 */
export const SUBSCRIPTION_SCOPE = 'system/Subscription.cruds';
const SUBSCRIPTION_FORM = /^system\/Subscription\.(?:cruds?|write|\*)$/;

/** Permits an agent to start network queries (docs/agents.md). */
export const QUERY_SCOPE = 'network-query.start';
/** No scope for reading includes them. */
const BESIDE_READING = [SUBSCRIPTION_SCOPE, QUERY_SCOPE];

/**
 * The canonical form (`system/*.rs`); undefined when it is not one of ours.
 * `read` is the form of SMART 1.
 */
export function parseFhirScope(
  text: string,
  isServed: (type: string) => boolean,
): string | undefined {
  if (SUBSCRIPTION_FORM.test(text)) return SUBSCRIPTION_SCOPE;
  if (text === QUERY_SCOPE) return text;
  const type = SCOPE.exec(text)?.[1];
  return type === undefined || (type !== '*' && !isServed(type))
    ? undefined
    : `system/${type}.rs`;
}

/**
 * Returns the requested scopes that are granted. A client with `system/*.rs`
 * may ask for single types.
 */
export function grantedScopes(
  requested: readonly string[],
  registered: readonly string[],
): string[] {
  const granted = requested.flatMap((scope) => {
    const isReading = !BESIDE_READING.includes(scope);
    if (
      registered.includes(scope) ||
      (isReading && registered.includes('system/*.rs'))
    )
      return [scope];
    return scope === 'system/*.rs'
      ? registered.filter((each) => !BESIDE_READING.includes(each))
      : [];
  });
  return [...new Set(granted)].sort();
}

/** The types that the scopes permit; undefined means all. */
export function typesOfScopes(
  scopes: readonly string[],
): ReadonlySet<string> | undefined {
  const types = scopes.flatMap((scope) => SCOPE.exec(scope)?.[1] ?? []);
  return types.includes('*') ? undefined : new Set(types);
}
