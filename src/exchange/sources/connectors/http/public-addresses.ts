import type { LookupFunction } from 'node:net';
import type { Dispatcher } from 'undici';
import {
  type DestinationRules,
  destinationProblem,
  guardedLookup,
} from '../../../platform/outbox/destination-guard.ts';
import { SourceFailure } from '../connector.ts';

/*
 * Servers of a network's directory: others wrote their addresses, which must not
 * lead into a private network or to this machine.
 */

const RULES: DestinationRules = { allowLoopback: false };

/** The look-up of host names, which finds public addresses only. */
export const publicLookup: LookupFunction = (hostname, options, callback) =>
  lookup(hostname, options, (error, ...found) =>
    callback(
      error !== null && 'code' in error && error.code === 'EDESTINATION'
        ? refused('its host name is in a private network')
        : error,
      ...found,
    ),
  );
const lookup = guardedLookup(RULES);

/** Sends nothing to addresses that are private by their look. */
export const onlyPublic = (pool: Dispatcher): Dispatcher =>
  pool.compose((dispatch) => (options, handler) => {
    const problem = destinationProblem(String(options.origin), RULES);
    if (problem !== undefined) throw refused(`its address ${problem}`);
    return dispatch(options, handler);
  });

const refused = (why: string): SourceFailure =>
  new SourceFailure(
    'refused',
    `${why}; see --private-addresses of the connection to its network`,
  );
