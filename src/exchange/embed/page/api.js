/** What an answer other than success says. */
export class CallError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Calls of the gateway that served this page. The token goes in a header, never in an address. An answer 401 ends the session.
 * @param {import('./session.js').Session} session
 */
export function createApi(session) {
  const [, , base = '', account = '', patient = ''] =
    /^((.*)\/embed)\/([^/]+)\/patient\/([^/]+)/.exec(location.pathname) ?? [];

  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Response>} */
  async function open(path, signal = session.signal) {
    const { authorization } = session;
    const answer = await fetch(path, {
      headers: { authorization },
      signal,
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
    });
    if (answer.ok) return answer;
    if (answer.status === 401) {
      // Asked with a token that another one has followed meanwhile.
      if (!signal.aborted && authorization !== session.authorization) return open(path, signal);
      session.end('refused');
    }
    const problem = await answer.json().catch(() => ({}));
    throw new CallError(answer.status, typeof problem.detail === 'string' ? problem.detail : 'No answer');
  }

  return {
    patient,
    /** An operation of the interface. @param {string} path */
    read: async (path) => (await open(`${base}/medical/v1/${path}`)).json(),
    /** What there is for this page only. @param {string} name @param {AbortSignal} [signal] */
    open: (name, signal) => open(`${base}/embed/${account}/patient/${patient}/${name}`, signal),
  };
}

/** @typedef {ReturnType<typeof createApi>} Api */

/** What to tell of it. @param {unknown} error @param {string} what */
export function messageOf(error, what) {
  if (!(error instanceof CallError)) return `${what} could not be loaded: the connection failed.`;
  if (error.status === 404) return `${what} could not be found.`;
  if (error.status === 429) return `${what} could not be loaded: too many requests just now.`;
  if (error.status >= 500) return `${what} could not be loaded: the service is not available just now.`;
  return `${what} could not be loaded (${error.message}).`;
}

/** Left over by a session that ended; nobody need hear of it. @param {unknown} error */
export const isAborted = (error) => error instanceof DOMException && error.name === 'AbortError';
