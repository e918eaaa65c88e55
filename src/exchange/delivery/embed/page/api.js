import { base, callOnce, patient, routeOf } from './begin.js';

/** An error response, with its status. */
export class CallError extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Calls to the gateway that served this page. A 401 ends the session.
 * @param {import('./session.js').Session} session
 */
export function createApi(session) {
  /** @param {string} path @param {AbortSignal} [signal] @returns {Promise<Response>} */
  async function open(path, signal = session.signal) {
    const { authorization } = session;
    const answer = await callOnce(path, authorization, signal);
    if (answer.ok) return answer;
    if (answer.status === 401) {
      // The request used a token that has been replaced in the meantime.
      if (!signal.aborted && authorization !== session.authorization)
        return open(path, signal);
      session.end('refused');
    }
    const problem = await answer.json().catch(() => ({}));
    throw new CallError(
      answer.status,
      typeof problem.detail === 'string' ? problem.detail : 'No response',
    );
  }

  return {
    patient,
    /** An operation of the interface. @param {string} path */
    read: async (path) => (await open(`${base}/medical/v1/${path}`)).json(),
    /** A route that only this page uses. @param {string} name @param {AbortSignal} [signal] */
    open: (name, signal) => open(routeOf(name), signal),
  };
}

/** @typedef {ReturnType<typeof createApi>} Api */

/** An error message for the reader. @param {unknown} error @param {string} what */
export function messageOf(error, what) {
  if (!(error instanceof CallError))
    return `${what} could not be loaded: the connection failed.`;
  if (error.status === 404) return `${what} could not be found.`;
  if (error.status === 429)
    return `${what} could not be loaded: too many requests. Try again shortly.`;
  if (error.status >= 500)
    return `${what} could not be loaded: the service is currently unavailable.`;
  return `${what} could not be loaded (${error.message}).`;
}

/** Whether a request was aborted because its session ended; this is not reported. @param {unknown} error */
export const isAborted = (error) =>
  error instanceof DOMException && error.name === 'AbortError';
