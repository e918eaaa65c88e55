import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { UnreadableCsvError } from '../../../src/orchestrator/bulk-onboarding/csv-records.ts';
import {
  type TakeResultOptions,
  takeResult as takeResultOf,
} from '../../../src/orchestrator/bulk-onboarding/take-result.ts';
import { type MemoryFiles, memoryFiles } from './memory-files.ts';

const RESULT = [
  'External ID,firstName,zip,patientId,metriportId,status,reason',
  'E-1,Jane,02110,p-1,p-1,created,',
  'E-2,"Mary, Ann",2110,,,failed,"zip: ""2110"" has 4 digits"',
  "E-3,'=cmd,02111,p-3,p-3,updated,",
  'E-4,,02112,,,failed,firstName: is required',
  '',
].join('\r\n');
const stream = (text: string) =>
  Readable.from([Buffer.from(text)], { objectMode: false });

/**
 * Of a file of which nothing but another header is known, unless the test says
 * what was sent.
 */
async function takeResult(
  files: MemoryFiles,
  content: Readable,
  options?: TakeResultOptions,
  sent = 'something,else\n',
) {
  const file = await files.put('upload', stream(sent), 'text/csv');
  const taken = takeResultOf(files, content, file, options);
  return taken.finally(() => files.delete(file.ref));
}

describe('a result CSV', () => {
  test('is kept as it came, counted, and parted into patient ids and rows to correct', async () => {
    const files = memoryFiles();
    const { counts, result, patients, corrections } = await takeResult(
      files,
      stream(RESULT),
    );
    expect(counts).toEqual({ rows: 4, created: 1, updated: 1, failed: 2 });
    expect(files.textOf(result.ref)).toBe(RESULT);
    expect(files.textOf(patients?.ref)).toBe(
      'externalId,patientId,status\r\nE-1,p-1,created\r\nE-3,p-3,updated\r\n',
    );
    expect(files.textOf(corrections?.ref)).toBe(
      'External ID,firstName,zip,reason\r\nE-2,"Mary, Ann",2110,"zip: ""2110"" has 4 digits"\r\nE-4,,02112,firstName: is required\r\n',
    );
  });

  test('without a failed row has nothing to correct; of a dry run there are no patients', async () => {
    const text =
      'firstName,patientId,metriportId,status,reason\nJane,,,would-create,\nJoe,,,would-update,\n';
    const taken = await takeResult(memoryFiles(), stream(text));
    expect(taken.counts).toEqual({
      rows: 2,
      created: 1,
      updated: 1,
      failed: 0,
    });
    expect(taken).toMatchObject({
      patients: undefined,
      corrections: undefined,
    });
  });

  test('of a file of corrected rows that fail again has the new reasons only', async () => {
    const files = memoryFiles();
    const text =
      'firstName,reason,patientId,metriportId,status,reason\nJane,the old one,,,failed,the new one\n';
    const { corrections } = await takeResult(files, stream(text));
    expect(files.textOf(corrections?.ref)).toBe(
      'firstName,reason\r\nJane,the new one\r\n',
    );
  });

  test('of another service is judged by its patient ids when it has no status', async () => {
    const { counts } = await takeResult(
      memoryFiles(),
      stream('id,metriportId\n1,p-1\n2,\n'),
    );
    expect(counts).toEqual({ rows: 2, created: 1, updated: 0, failed: 1 });
  });

  test('leads back to the rows as they were sent: surplus cells stay, formulas are escaped once', async () => {
    const files = memoryFiles();
    const sent =
      '\uFEFFid,firstName,city\r\n\r\n=1,Jane,Boston\r\n2,Joe,12 Main St, Apt 4,Lynn\r\n \r\n3\r\n4,Ann,Lynn';
    const text = [
      '\uFEFFid,firstName,city,patientId,metriportId,status,reason',
      "'=1,Jane,Boston,,,failed,first",
      '2,Joe,12 Main St,,,failed,second',
      '3,,,,,failed,third',
      '4,Ann,Lynn,p-4,p-4,created,',
      '',
    ].join('\r\n');
    const { corrections } = await takeResult(files, stream(text), {}, sent);
    expect(files.textOf(corrections?.ref)).toBe(
      [
        'id,firstName,city,reason',
        "'=1,Jane,Boston,first",
        '2,Joe,12 Main St, Apt 4,Lynn,second',
        '3,,,third',
        '',
      ].join('\r\n'),
    );
  });

  test('in another order than the file is believed before the file', async () => {
    const files = memoryFiles();
    const text =
      'id,firstName,status,reason\n2,Joe,failed,x\n1,Jane,failed,y\n';
    const { corrections } = await takeResult(
      files,
      stream(text),
      {},
      'id,firstName\n1,Jane\n2,Joe\n',
    );
    expect(files.textOf(corrections?.ref)).toBe(
      'id,firstName,reason\r\n2,Joe,x\r\n1,Jane,y\r\n',
    );
  });

  test('in which a foreign cell is a formula does not hand it on to a spreadsheet', async () => {
    const files = memoryFiles();
    const { corrections } = await takeResult(
      files,
      stream('firstName,status,reason\n=1+1,failed,x\n'),
    );
    expect(files.textOf(corrections?.ref)).toContain("\r\n'=1+1,x");
  });

  test('of many rows arrives whole', async () => {
    const files = memoryFiles();
    const rows = Array.from(
      { length: 5_000 },
      (_, n) => `E-${n},p-${n},${n % 2 ? 'created' : 'failed'},why`,
    );
    const { counts, corrections } = await takeResult(
      files,
      stream(['id,patientId,status,reason', ...rows, ''].join('\n')),
    );
    expect(counts).toEqual({
      rows: 5_000,
      created: 2_500,
      updated: 0,
      failed: 2_500,
    });
    const lines = files.textOf(corrections?.ref).trimEnd().split('\r\n');
    expect(lines).toHaveLength(2_501);
    expect(lines.at(-1)).toBe('E-4998,why');
  });

  test.each([
    ['empty', ''],
    ['no CSV', 'a,b\n"open'],
  ])(
    'that is %s leaves nothing behind, and the error quotes nothing',
    async (_, text) => {
      const files = memoryFiles();
      const error = await takeResult(files, stream(text)).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(UnreadableCsvError);
      expect(String(error)).not.toContain('open');
      expect(files.stored.size).toBe(0);
    },
  );

  test('whose reading is broken off leaves nothing behind', async () => {
    const files = memoryFiles();
    const rows = Array.from({ length: 2_000 }, (_, n) => `E-${n},,failed,why`);
    const aborted = AbortSignal.abort(new Error('cancelled'));
    const call = takeResult(
      files,
      stream(['id,patientId,status,reason', ...rows].join('\n')),
      {
        signal: aborted,
      },
    );
    await expect(call).rejects.toThrow('cancelled');
    expect(files.stored.size).toBe(0);
  });
});
