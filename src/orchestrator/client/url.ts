/**
 * Builds the URL of a call. `baseUrl` may contain a path; each `:name` in `path` is replaced from `params`; query members
 * without a value are omitted. Throws TypeError for an empty path parameter.
 */
export function buildUrl(
  baseUrl: string,
  path: string,
  { params = {}, query = {} }: { params?: object; query?: object },
): URL {
  const values = new Map<string, unknown>(Object.entries(params));
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => pathSegment(String(values.get(name) ?? '')));
  const url = new URL(`${baseUrl.replace(/\/+$/, '')}${filled}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) url.searchParams.set(name, String(value));
  return url;
}

/** URL parsers remove `.` and `..`, even encoded ones, and an empty segment would address another operation. */
function pathSegment(value: string): string {
  if (value === '' || value === '.' || value === '..')
    throw new TypeError('A path parameter is empty, "." or ".."');
  return encodeURIComponent(value);
}
