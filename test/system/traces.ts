import { request } from 'undici';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { OtlpReceiver, ReceivedSpan } from '../support/otlp-receiver.ts';
import { sample } from '../support/simulator.ts';
import type { StackAccount, TestStack } from '../support/stack.ts';
import { sendIntake } from './privacy-run.ts';

const SOURCES = {
  hie: { enabled: true },
  pharmacy: { enabled: true },
  lab: { enabled: true },
};
const OF_THE_CALLER = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
};
const WAIT = { timeout: 240_000, interval: 250 };

/** On a running stack that sends its traces to this collector. */
export function describeTraces(
  running: () => { stack: TestStack; collector: OtlpReceiver },
): void {
  describe('traces', { timeout: 240_000 }, () => {
    let stack: TestStack;
    let collector: OtlpReceiver;
    let account: StackAccount;

    beforeAll(async () => {
      ({ stack, collector } = running());
      await stack.simulator.clearRules();
      account = await stack.addAccount();
    });

    const spansOf = (traceId: string): ReceivedSpan[] =>
      collector.spans.filter((span) => span.traceId === traceId);
    const labelsOf = (spans: readonly ReceivedSpan[]): string[] =>
      spans.map(({ service, name }) => `${service}: ${name}`);
    /** Spans whose parent never arrived. */
    const orphansOf = (
      spans: readonly ReceivedSpan[],
      ...known: string[]
    ): string[] => {
      const ids = new Set([...known, ...spans.map(({ spanId }) => spanId)]);
      return labelsOf(
        spans.filter(({ parentSpanId = '' }) => !ids.has(parentSpanId)),
      );
    };

    test('one trace leads from the request through workflow, activities and calls to the webhook at its receiver', async () => {
      const { traceId, spanId } = OF_THE_CALLER;
      const answer = await request(
        `${stack.connection.baseUrl}/medical/v1/patient?facilityId=${account.facilityId}`,
        {
          method: 'POST',
          headers: {
            'x-api-key': account.apiKey,
            'content-type': 'application/json',
            traceparent: `00-${traceId}-${spanId}-01`,
            baggage: 'patient=not-to-be-passed-on',
            tracestate: 'vendor=not-to-be-passed-on',
          },
          body: JSON.stringify({
            ...sample('keith-kiehn').createBody,
            networkQuery: { sources: SOURCES },
          }),
        },
      );
      expect(answer.statusCode, await answer.body.text()).toBeLessThan(300);

      await vi.waitFor(() => {
        const labels = labelsOf(spansOf(traceId));
        expect(labels).toEqual(
          expect.arrayContaining([
            expect.stringMatching(/^gateway: POST \/medical\/v1\/patient$/),
            'gateway: start networkQuery',
            'worker: workflow networkQuery',
            'worker: activity askSource',
            'worker: call hie',
            'worker: call pharmacy',
            'worker: call lab',
            'worker: send webhook',
            'receiver: POST /webhooks',
          ]),
        );
        expect(orphansOf(spansOf(traceId), spanId)).toEqual([]);
      }, WAIT);
      const sent = spansOf(traceId).filter(
        ({ name }) => name === 'send webhook',
      );
      expect(
        sent.map(({ attributes }) => attributes['exchange.event.type']),
      ).toContain('network-query.lab');
      const { 'gateway.log': ofGateway, 'worker.log': ofWorker } =
        await stack.logs();
      expect(ofGateway).toContain(`"traceId":"${traceId}"`);
      expect(`${ofGateway}${ofWorker}${collector.text()}`).not.toContain(
        'not-to-be-passed-on',
      );
    });

    test('an intake and all that the onboarding causes is one trace, through both halves', async () => {
      const before = new Set(collector.spans);
      const patient = sample('tamica-murazik').createBody;
      expect(
        await sendIntake(stack, {
          jobId: 'traced',
          facilityId: stack.connection.facilityId,
          patient,
        }),
      ).toBe(202);
      await vi.waitFor(() => {
        const [intake] = collector.spans.filter(
          (span) => !before.has(span) && span.name === 'POST /intake',
        );
        const spans = spansOf(intake?.traceId ?? '');
        expect(labelsOf(spans)).toEqual(
          expect.arrayContaining([
            'worker: workflow patientOnboarding',
            'worker: call createPatient',
            'gateway: POST /medical/v1/patient',
            'worker: workflow networkQuery',
            'receiver: POST /webhooks',
          ]),
        );
        // The intake itself has no parent.
        expect(orphansOf(spans, '')).toEqual([]);
      }, WAIT);
    });

    test('a span says only what the list allows, and of an error only its kind', () => {
      for (const { attributes, status, events, name } of collector.spans) {
        expect(
          Object.keys(attributes).filter(
            (key) => !/^(http|exchange|temporal|error)\./.test(key),
          ),
        ).toEqual([]);
        expect(attributes['http.route'] ?? '', name).not.toMatch(
          /[0-9a-f]{8}-|\?/,
        );
        expect(name).not.toMatch(/[0-9a-f]{8}-|\?/);
        expect(status?.message ?? '', name).toBe('');
        expect(events ?? [], name).toEqual([]);
      }
    });
  });
}
