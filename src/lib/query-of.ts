/**
 * The query of a URL or of a request's target: all that follows the first `?`,
 * which may contain further ones.
 */
export const queryOf = (url: string): string =>
  url.split(/\?(.*)/s, 2)[1] ?? '';
