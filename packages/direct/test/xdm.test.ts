import {
  Uint8ArrayReader,
  Uint8ArrayWriter,
  ZipReader,
  ZipWriter,
  type ZipWriterAddDataOptions,
} from '@zip.js/zip.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fileOfXdm, readXdm, writeXdm, xdmFileName } from '../src/index.ts';

const METADATA = '<SubmitObjectsRequest/>';
const letter = Buffer.from('Dear colleague, '.repeat(1_000));

const written = () =>
  writeXdm({
    metadata: METADATA,
    sender: 'a@direct.example.org',
    madeAt: new Date('2026-11-30T08:00:00Z'),
    documents: [
      { name: 'DOC00001.TXT', title: 'Letter <1>', content: letter },
      { name: 'DOC00002.BIN', title: 'Nothing', content: Buffer.alloc(0) },
    ],
  });

/** Files as a zip; an array of pairs, so that names may come twice. */
async function zipOf(
  files: readonly (readonly [string, string | Buffer])[],
  options: ZipWriterAddDataOptions = {},
): Promise<Buffer> {
  const writer = new ZipWriter(new Uint8ArrayWriter(), {
    useWebWorkers: false,
  });
  for (const [name, content] of files)
    await writer.add(name, new Uint8ArrayReader(Buffer.from(content)), options);
  return Buffer.from(await writer.close());
}

const SET = 'IHE_XDM/SUBSET01';
const METADATA_ENTRY = [`${SET}/METADATA.XML`, METADATA] as const;

/** The same bytes with another text of the same length, wherever it stands. */
function renamed(zip: Buffer, from: string, to: string): Buffer {
  expect(to).toHaveLength(from.length);
  const text = zip.toString('latin1');
  expect(text).toContain(from);
  return Buffer.from(text.replaceAll(from, to), 'latin1');
}

/** The zip with another size in the directory than a file has. */
function announcing(zip: Buffer, name: string, size: number): Buffer {
  const header = zip.lastIndexOf(name) - 46;
  expect(zip.readUInt32LE(header)).toBe(0x02014b50);
  zip.writeUInt32LE(size, header + 24);
  return zip;
}

async function textOf(zip: Buffer, name: string): Promise<string> {
  const reader = new ZipReader(new Uint8ArrayReader(zip));
  const entries = await reader.getEntries();
  const entry = entries.find(({ filename }) => filename === name);
  if (entry === undefined || entry.directory) throw new Error(`no ${name}`);
  const content = await entry.getData(new Uint8ArrayWriter(), {
    useWebWorkers: false,
  });
  return Buffer.from(content).toString('utf8');
}

describe('a package of documents', () => {
  test('is read as it was written, and is the same bytes each time', async () => {
    const bytes = await written();
    const xdm = await readXdm(bytes);

    expect(xdm?.metadata.toString()).toBe(METADATA);
    expect(xdm?.files.map(({ path }) => path)).toEqual([
      'DOC00001.TXT',
      'DOC00002.BIN',
    ]);
    expect(xdm?.files[0]?.content.equals(letter)).toBe(true);
    expect(xdm?.files[1]?.content).toHaveLength(0);
    expect(bytes.equals(await written())).toBe(true);
  });

  test('has a page for people, in which titles are text', async () => {
    const page = await textOf(await written(), 'INDEX.HTM');

    expect(page).toContain(
      `<a href="${SET}/DOC00001.TXT">Letter &lt;1&gt;</a>`,
    );
  });

  test('names its documents as ISO 9660 has it, whatever they are called', () => {
    expect(xdmFileName(0, 'summary.xml')).toBe('DOC00001.XML');
    expect(xdmFileName(41, '../../etc/passwd')).toBe('DOC00042.BIN');
  });

  test('is read whatever its names’ case, separators and first dots', async () => {
    const xdm = await readXdm(
      await zipOf([
        ['ihe_xdm\\subset01\\metadata.xml', METADATA],
        ['ihe_xdm\\subset01\\images\\a b.png', 'picture'],
        ['viewer/autorun.exe', 'MZ'],
      ]),
    );

    expect(xdm?.files.map(({ path }) => path)).toEqual(['images/a b.png']);
    const find = (uri: string) => xdm && fileOfXdm(xdm, uri)?.path;
    expect(find('IMAGES/A%20B.PNG')).toBe('images/a b.png');
    expect(find('./images/a b.png')).toBe('images/a b.png');
    expect(find('../../viewer/autorun.exe')).toBeUndefined();
    expect(find('%')).toBeUndefined();
  });

  test('is told from other files', async () => {
    const ordinary = await zipOf([['scan.pdf', '%PDF']]);
    const beside = await zipOf([['IHE_XDM/README.TXT', 'no metadata']]);

    await expect(readXdm(ordinary)).resolves.toBeUndefined();
    await expect(readXdm(beside)).resolves.toBeUndefined();
    await expect(readXdm(ordinary.subarray(0, 40))).resolves.toBeUndefined();
    await expect(readXdm(Buffer.from('%PDF'))).resolves.toBeUndefined();
    await expect(readXdm(Buffer.alloc(0))).resolves.toBeUndefined();
  });
});

test('a package that was changed anywhere gives its own bytes, or none', async () => {
  const zip = await zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, letter]], {
    level: 0,
  });
  const own = new Map((await readXdm(zip))?.files.map((f) => [f.path, f]));
  const change = fc.tuple(fc.nat(zip.length - 1), fc.nat(255));

  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 1, maxLength: 3 }),
      async (changes) => {
        const changed = Buffer.from(zip);
        for (const [at, byte] of changes) changed[at] = byte;
        const xdm = await readXdm(changed).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'package' });
          return undefined;
        });
        for (const { path, content } of xdm?.files ?? []) {
          const before = own.get(path)?.content ?? content;
          expect(content.equals(before), path).toBe(true);
        }
      },
    ),
    { numRuns: 100 },
  );
});

describe('a package is refused, with a reason for its sender,', () => {
  const big = Buffer.alloc(30_000_000);
  const honest = () => zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, letter]]);
  const cases: [string, RegExp, () => Promise<Buffer>][] = [
    [
      'if it ends early',
      /damaged/,
      async () => (await honest()).subarray(0, -30),
    ],
    [
      'if its bytes were changed',
      /damaged/,
      async () => {
        const zip = await zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, 'content']], {
          level: 0,
        });
        return renamed(zip, 'content', 'another');
      },
    ],
    [
      'if a name leads out of it',
      /outside of itself/,
      () => zipOf([METADATA_ENTRY, ['../../../etc/cron.d/x', 'x']]),
    ],
    [
      'if a name is absolute',
      /outside of itself/,
      () => zipOf([METADATA_ENTRY, ['/etc/cron.d/x', 'x']]),
    ],
    [
      'if it is encrypted',
      /encrypted/,
      () =>
        zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, letter]], {
          password: 'secret',
          zipCrypto: true,
        }),
    ],
    [
      'if two files have one name',
      /two files of one name/,
      async () =>
        renamed(
          await zipOf([
            METADATA_ENTRY,
            [`${SET}/A.TXT`, 'one'],
            [`${SET}/B.TXT`, 'two'],
          ]),
          `${SET}/B.TXT`,
          `${SET}/A.TXT`,
        ),
    ],
    [
      'if two names differ in their case only',
      /two files of one name/,
      () =>
        zipOf([
          METADATA_ENTRY,
          [`${SET}/A.TXT`, 'one'],
          [`${SET}/a.txt`, 'two'],
        ]),
    ],
    [
      'if it has two submission sets',
      /several submission sets/,
      () =>
        zipOf([METADATA_ENTRY, ['IHE_XDM/SUBSET02/METADATA.XML', METADATA]]),
    ],
    [
      'if it has thousands of entries',
      /more than 1000 entries/,
      () =>
        zipOf([
          METADATA_ENTRY,
          ...Array.from(
            { length: 1_001 },
            (_, at) => [`${SET}/${at}.TXT`, ''] as const,
          ),
        ]),
    ],
    [
      'if it unpacks to more than is taken',
      /more in it than is taken/,
      () => zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, big]]),
    ],
    [
      'if many files unpack to more than is taken',
      /more in it than is taken/,
      () =>
        zipOf([
          METADATA_ENTRY,
          ...[1, 2, 3].map(
            (at) => [`${SET}/${at}.TXT`, big.subarray(0, 10_000_000)] as const,
          ),
        ]),
    ],
    [
      'if its metadata are huge',
      /more in it than is taken/,
      () => zipOf([[METADATA_ENTRY[0], big]]),
    ],
    [
      'if it unpacks to more than its directory says',
      /damaged|more in it/,
      async () =>
        announcing(
          await zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, big]]),
          `${SET}/A.TXT`,
          10,
        ),
    ],
  ];

  test.each(cases)('%s', async (_, reason, make) => {
    const zip = await make();

    await expect(readXdm(zip)).rejects.toMatchObject({
      code: 'package',
      message: expect.stringMatching(reason),
    });
  });

  test('and one as zip64 is read', async () => {
    const xdm = await readXdm(
      await zipOf([METADATA_ENTRY, [`${SET}/A.TXT`, letter]], { zip64: true }),
    );

    expect(xdm?.files[0]?.content.equals(letter)).toBe(true);
  });
});
