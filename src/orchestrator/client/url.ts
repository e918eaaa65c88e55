/** `baseUrl` may carry a path of its own; `:name` in `path` is filled from `params`, unset query members are left out. */
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

/** A URL drops `.` and `..` even when they are encoded, and an empty segment changes the operation. */
function pathSegment(value: string): string {
  if (value === '' || value === '.' || value === '..') throw new TypeError('A path parameter is empty');
  return encodeURIComponent(value);
}
