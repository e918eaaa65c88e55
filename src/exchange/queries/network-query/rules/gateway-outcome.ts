import {
  type EndedPart,
  outcomeOfParts,
  UNKNOWN_PATIENT,
} from './query-status.ts';

/** How many gateways of an attempt were asked, and how they stand. */
export interface GatewayCounts {
  asked: number;
  found: number;
  nobody: number;
  failed: number;
  /** Not asked yet, asked again later, or their answer is awaited. */
  waiting: number;
}

/**
 * A gateway that cannot be reached is asked again after so long, and fails after
 * the last of these waits.
 */
export const GATEWAY_RETRY_MS = [60_000, 120_000, 240_000] as const;

const FIRST_IDLE_MS = 5 * 60_000;
const IDLE_MS_MAX = 8 * 60 * 60_000;

/**
 * How long a workflow waits that only awaits later answers, in milliseconds: it
 * is told of them, so that this is for a signal that was lost.
 */
export const idleWaitMs = (elapsedMs: number): number =>
  Math.min(Math.max(elapsedMs, FIRST_IDLE_MS), IDLE_MS_MAX);

/** Which gateways failed, and why. */
export interface SilentGateways {
  /** Of the first of them, in the order in which they were asked. */
  names: readonly string[];
  /** The most frequent ones, with how many gateways each is of. */
  reasons: readonly { reason: string; gateways: number }[];
}

/**
 * The outcome of an attempt over the gateways of networks, when all of them and
 * all parts have ended: it completes if anybody has answered, and names the
 * others as a gap: the first by name.
 */
export function outcomeOfGateways(
  parts: readonly EndedPart[],
  { asked, found, nobody, failed }: GatewayCounts,
  silent: SilentGateways,
):
  | { status: 'completed'; note?: string; gap?: string }
  | { status: 'failed'; reason: string } {
  const ofParts = parts.length === 0 ? undefined : outcomeOfParts(parts);
  const silence =
    failed === 0
      ? undefined
      : `${failed} of ${asked} gateways could not be asked: ${silenceText(silent, failed)}`;
  if (asked === 0 && ofParts !== undefined) return ofParts;
  if (asked === 0)
    return {
      status: 'failed',
      reason:
        'No gateway of the network is to be asked for this patient; see which would be: npm run starter -- query <patientId> --explain',
    };

  const gaps = [
    ...(ofParts?.status === 'failed' ? [ofParts.reason] : []),
    ...(ofParts?.status === 'completed' && ofParts.gap !== undefined
      ? [ofParts.gap]
      : []),
    ...(silence === undefined ? [] : [silence]),
  ];
  const hasAnswer = found + nobody > 0 || ofParts?.status === 'completed';
  if (!hasAnswer) return { status: 'failed', reason: gaps.join('; ') };
  if (gaps.length > 0) return { status: 'completed', gap: gaps.join('; ') };
  return found === 0 && ofParts === undefined
    ? { status: 'completed', note: UNKNOWN_PATIENT }
    : (ofParts ?? { status: 'completed' });
}

/** Such as `Good Hospital, Lake Clinic and 48 more (50: it is away)`. */
function silenceText(
  { names, reasons }: SilentGateways,
  failed: number,
): string {
  const others = failed - names.length;
  const more = others > 0 ? ` and ${others} more` : '';
  const why = reasons
    .map(({ reason, gateways }) => `${gateways}: ${reason}`)
    .join('; ');
  return `${names.join(', ')}${more} (${why})`;
}
