import { describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import type { World } from './world.ts';

/** Operations that answer at another address, or to another method, too. */
export function describeAliases(world: () => World): void {
  describe('another address or method of an operation', () => {
    const same: [Endpoint['method'], string, Endpoint['method'], string][] = [
      ['GET', '/settings', 'GET', '/medical/v1/settings'],
      ['POST', '/settings', 'POST', '/medical/v1/settings'],
      ['GET', '/settings/webhook', 'GET', '/medical/v1/settings/webhook'],
      [
        'POST',
        '/settings/webhook/retry',
        'POST',
        '/medical/v1/settings/webhook/retry',
      ],
      [
        'PUT',
        '/medical/v1/cohort/{cohort}',
        'PATCH',
        '/medical/v1/cohort/{cohort}',
      ],
      [
        'GET',
        '/medical/v1/document/downloadUrl',
        'GET',
        '/medical/v1/document/download-url',
      ],
    ];

    test.each(same)(
      '%s %s answers as %s %s',
      async (method, url, asMethod, asUrl) => {
        const cohort = await world().make.cohort();
        const headers = { 'x-api-key': world().account.apiKey };
        const answers = [];
        for (const [by, address] of [
          [method, url],
          [asMethod, asUrl],
        ] as const) {
          const answer = await world().app.inject({
            method: by,
            url: address.replace('{cohort}', cohort),
            headers,
          });
          const { instance: _, ...body } = answer.json();
          answers.push([answer.statusCode, body]);
        }
        expect(answers[0]).toEqual(answers[1]);
      },
    );
  });
}
