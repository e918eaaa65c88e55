import type { ProxyRefusal } from '../../../tools/cluster/proxy/refusals.ts';

/** A fault while it lasted: until what was ended served again. */
export interface FaultTime {
  what: string;
  beganAt: number;
  /** Undefined: it still lasts. */
  endedAt?: number;
}

/**
 * What was away is found again within this time: connections are opened anew,
 * and the proxy asks who is ready.
 */
const AFTERWARDS_MS = 10_000;

/** The faults during which a request was refused. */
export const faultsDuring = (
  refusal: ProxyRefusal,
  faults: readonly FaultTime[],
): string[] =>
  faults
    .filter(
      ({ beganAt, endedAt = Number.POSITIVE_INFINITY }) =>
        Date.parse(refusal.endedAt) >= beganAt &&
        Date.parse(refusal.receivedAt) <= endedAt + AFTERWARDS_MS,
    )
    .map(({ what }) => what);

export interface JudgedRequests {
  /**
   * One line for each way in which requests were refused: how often, which,
   * why, during which fault.
   */
  lines: string[];
  /**
   * The refusals and failures that must not happen: a refusal that is not 503 with Retry-After, or
   * one without a fault.
   */
  losses: string[];
}

/**
 * While a fault lasts, a request may be postponed: answered with 503 and
 * Retry-After, nothing done. Everything else that is not answered is a loss.
 * Seconds count from the first fault.
 */
export function judgeRequests(
  refusals: readonly ProxyRefusal[],
  faults: readonly FaultTime[],
): JudgedRequests {
  const startedAt = faults[0]?.beganAt ?? 0;
  const kinds = new Map<
    string,
    { times: number; firstAt: number; isLoss: boolean }
  >();
  for (const refusal of refusals) {
    const during = faultsDuring(refusal, faults);
    const {
      status,
      method,
      path,
      detail = '',
      backend = 'the proxy',
    } = refusal;
    const when = during.length > 0 ? during.join(', ') : 'no fault';
    const kind = `${status} ${method} ${path} by ${backend} during ${when}: ${detail}`;
    const known = kinds.get(kind);
    const firstAt =
      known?.firstAt ??
      Math.round((Date.parse(refusal.receivedAt) - startedAt) / 1_000);
    const isLoss = !refusal.isPostponed || during.length === 0;
    kinds.set(kind, { times: (known?.times ?? 0) + 1, firstAt, isLoss });
  }
  const all = [...kinds].map(([kind, { times, firstAt, isLoss }]) => ({
    isLoss,
    line: `from ${firstAt} s, ${times} times ${kind}`,
  }));
  return {
    lines: all.map(({ line }) => line),
    losses: all.flatMap(({ isLoss, line }) =>
      isLoss ? [`request failed ${line}`] : [],
    ),
  };
}
