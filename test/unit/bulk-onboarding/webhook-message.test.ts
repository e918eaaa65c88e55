import { describe, expect, test } from 'vitest';
import { readWebhookMessage } from '../../../src/orchestrator/receiver/webhook-message.ts';

const requestId = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';
const read = (
  bulkPatientCreate: unknown,
  type = 'medical.bulk-patient-create',
) =>
  readWebhookMessage(
    Buffer.from(
      JSON.stringify({
        meta: { messageId: 'm-1', type, requestId },
        bulkPatientCreate,
      }),
    ),
  );

describe('the webhook of a bulk create', () => {
  test('is reduced to what its workflow needs', () => {
    const result = 'https://exchange.test/r';
    expect(
      read({
        requestId,
        status: 'completed',
        result,
        rows: [{ firstName: 'Jane' }],
      })?.bulkCreate,
    ).toEqual({
      messageId: 'm-1',
      requestId,
      status: 'completed',
      result,
    });
  });

  test.each([
    ['a state that there is none of', { requestId, status: 'done' }],
    ['no request', { status: 'completed' }],
    [
      'a request id that would be read as a query',
      { requestId: "x' OR WorkflowType != '", status: 'failed' },
    ],
    ['nothing', undefined],
  ])('with %s is nobody’s', (_, body) => {
    const message = read(body);
    expect(message).toMatchObject({ messageId: 'm-1' });
    expect(message?.bulkCreate).toBeUndefined();
  });

  test('of another type is none', () => {
    expect(
      read({ requestId, status: 'completed' }, 'network-query.hie')?.bulkCreate,
    ).toBeUndefined();
  });
});
