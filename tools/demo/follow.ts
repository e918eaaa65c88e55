import { setTimeout as sleep } from 'node:timers/promises';
import color from 'picocolors';
import { request } from 'undici';
import type { TimelineEntry } from '../../src/contract/network-query.ts';
import {
  PATIENT_ONBOARDING_MESSAGES,
  type PatientOnboardingStatus,
  type PatientOnboardingSummary,
} from '../../src/contract/patient-onboarding.ts';
import type { StartedOnboarding } from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import type { StackConnection } from '../../src/starter/local-stack/connection-file.ts';

const LOOK_EVERY_MS = 400;

/** Prints the progress of each onboarding: the phases of its workflow, and the timeline entries of its queries. */
export function createFollower(connection: StackConnection, print: (line: string) => void) {
  const begunAt = Date.now();
  const printStep = (key: string, source: string, message: string) => {
    const at = `${((Date.now() - begunAt) / 1000).toFixed(1)} s`.padStart(7);
    print(`${color.dim(at)}  ${key.padEnd(16)} ${color.cyan(source.padEnd(9))} ${message}`);
  };

  async function readTimeline(requestId: string): Promise<TimelineEntry[]> {
    const answer = await request(`${connection.baseUrl}/medical/v1/network/query/${requestId}/timeline`, {
      headers: { 'x-api-key': connection.apiKey },
    });
    const { timeline } = (await answer.body.json()) as { timeline?: TimelineEntry[] };
    return timeline ?? [];
  }

  async function follow(
    key: string,
    { handle }: StartedOnboarding,
    signal: AbortSignal,
  ): Promise<PatientOnboardingSummary> {
    let ended = false;
    const result = handle.result().finally(() => {
      ended = true;
    });
    // Awaited below; until then a rejection must not count as unhandled.
    result.catch(() => undefined);
    let phase = '';
    const printed = new Map<string, number>();
    for (let last = false; !last; ) {
      last = ended;
      const status = await handle
        .query<PatientOnboardingStatus>(PATIENT_ONBOARDING_MESSAGES.status)
        .catch(() => undefined);
      if (status !== undefined && status.phase !== phase) {
        phase = status.phase;
        printStep(key, '', phase);
      }
      for (const requestId of status?.requestIds ?? []) {
        const timeline = await readTimeline(requestId);
        for (const { source, kind, message } of timeline.slice(printed.get(requestId) ?? 0)) {
          printStep(key, source ?? '', paint(kind, message));
        }
        printed.set(requestId, timeline.length);
      }
      if (!last) await sleep(LOOK_EVERY_MS, undefined, { signal });
    }
    return result;
  }

  return {
    /** Resolves with each onboarding's summary; throws when one of them fails. */
    async until(
      onboardings: readonly { key: string; started: StartedOnboarding }[],
      signal: AbortSignal,
    ): Promise<Map<string, PatientOnboardingSummary>> {
      const ends = onboardings.map(
        async ({ key, started }): Promise<[string, PatientOnboardingSummary]> => [
          key,
          await follow(key, started, signal),
        ],
      );
      return new Map(await Promise.all(ends));
    },
  };
}

function paint(kind: string, message: string): string {
  if (kind === 'call-failed' || kind === 'failed') return color.yellow(message);
  return kind === 'completed' ? color.green(message) : message;
}
