import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { createLogger } from '../../../src/lib/logger.ts';

/** What a log line says of an error. */
function logged(error: Error): Record<string, string> {
  const serializers = (
    createLogger('test') as unknown as Record<
      symbol,
      { err: (error: Error) => never }
    >
  )[pino.symbols.serializersSym];
  return serializers?.err(error) ?? {};
}

describe('an error in the log', () => {
  test('tells where it was thrown, and nothing of a message of several lines but the message', () => {
    const { message, stack } = logged(
      new Error('first\nsecond\n    at third (4)'),
    );
    expect(message).toBe('first\nsecond\n    at third (4)');
    expect(stack).toContain('logger.test.ts');
    expect(stack).not.toMatch(/first|second|third/);
  });

  test('of the database is its code: the text quotes values', () => {
    const error = Object.assign(
      new Error('invalid input: "Name"\nDETAIL: (Name)'),
      {
        code: '22P02',
        detail: 'Name',
      },
    );
    expect(logged(error).message).toBe('database error 22P02');
    expect(JSON.stringify(logged(error))).not.toContain('Name');
  });

  test('of a socket is not taken for one of the database', () => {
    const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    expect(logged(error)).toMatchObject({
      code: 'EPIPE',
      message: 'write EPIPE',
    });
  });

  test('of a parser does not quote what it parsed, as a cause neither', () => {
    let thrown: unknown;
    try {
      JSON.parse('Name is not JSON');
    } catch (error) {
      thrown = error;
    }
    const line = JSON.stringify(
      logged(new Error('an answer cannot be read', { cause: thrown })),
    );
    expect(line).toContain('an answer cannot be read');
    expect(line).not.toContain('Name');
  });
});
