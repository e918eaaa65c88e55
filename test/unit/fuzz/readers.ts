import { readdirSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  parseHl7,
  readHl7,
  reportedInHl7,
  UnreadableMessageError,
} from '#hl7v2-to-fhir';
import { renderHtml, summarise } from '#record-summary';
import { renderDocument } from '../../../src/exchange/delivery/documents/render.ts';
import { readFhirBundle } from '../../../src/exchange/messaging/notifications/fhir/bundle.ts';
import { reportedInBundle } from '../../../src/exchange/messaging/notifications/fhir/reported-resources.ts';
import {
  ACCEPTED,
  acknowledgementsAsked,
} from '../../../src/exchange/messaging/notifications/hl7v2/acknowledge.ts';
import { deliveryOf } from '../../../src/exchange/messaging/notifications/recording/record-subject.ts';
import { convertDatedCcda } from '../../../src/exchange/records/conversion/ccda-conversion.ts';
import { cutLines } from '../../../src/exchange/sources/connectors/collect/async-job.ts';
import { bundleOf } from '../../../src/exchange/sources/connectors/collect/bundle-page.ts';
import { requestedContent } from '../../../src/exchange/sources/connectors/collect/page-content.ts';
import { SourceFailure } from '../../../src/exchange/sources/connectors/connector.ts';
import { readSourceJson } from '../../../src/exchange/sources/connectors/http/http-response.ts';
import { resolveSourceConfig } from '../../../src/exchange/sources/connectors/source-config.ts';
import { checkCsv } from '../../../src/shared/bulk-csv/check-csv.ts';
import { parseRecords } from '../../../src/shared/bulk-csv/records.ts';
import { createRowReader } from '../../../src/shared/bulk-csv/row-reader.ts';
import {
  deliveriesOf,
  delivery,
  personOf,
  samples,
} from '../../support/deliveries.ts';
import { mergeDeliveries } from '../../support/merge-deliveries.ts';
import { readerOf } from '../../support/summary-reader.ts';
import { CALLER_TEXTS, type CallerText } from './caller-texts.ts';

/**
 * A reader of foreign bytes. `read` throws what `refusals` lists, or nothing:
 * any other error is a fault of ours.
 */
export interface FuzzedReader {
  samples: readonly Buffer[];
  read(bytes: Buffer): Promise<void>;
  refusals: readonly (abstract new (...args: never[]) => Error)[];
}

const [sample = raise('there are no sample patients')] = samples;
const CCDA_FOLDER = new URL('../../../samples/ccda/', import.meta.url);
const PATIENT = 'p1';
const config = resolveSourceConfig({
  source: 'hie',
  baseUrl: 'https://fhir.example.org/r4',
  auth: { kind: 'none' },
});

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
/** One resource of each type that the sample patient has, about patient p1. */
const resources = [...resourcesByType().values()];

const ADT = [
  'MSH|^~\\&|ADT|MERCY|EXCHANGE|HUB|20260501083000-0500||ADT^A03^ADT_A03|M-1|P|2.5.1',
  'EVN||20260501082900|||op1|20260501082500',
  'PID|1||77^^^MERCY^MR~1^^^STATE^XX||O\\T\\Brien^Mary^Ann^^^^L~Maiden^Mary||19700203|F|||5 Elm\\F\\St^Apt 2^Boston^MA^02108-1234^USA||6175550100|||||ACC9',
  'PV1|1|I|5E^512^A^MERCY|||ER^1|||||||||||||V100^^^MERCY|||||||||||||||||01||||||||20260429|20260501082000',
  'MRG|78^^^MERCY^MR',
  'OBX|1|TX|1^Note||Text\\.br\\more',
].join('\r');

const CSV = [
  'externalId,firstName,lastName,dob,gender,addressLine1-1,city-1,state-1,zip-1,phone-1,email-1,ssn,cohort-1',
  'e1,Mary,"O""Brien",1970-02-03,female,5 Elm St,Boston,MA,02108,6175550100,m@example.org,123-45-6789,',
  'e2,José,"Li, Wei",02/03/1971,M,"1 Main St\nApt 2",Springfield,IL,62701-1234,,,,',
  '',
].join('\r\n');

const SUBJECT_ID = '01a202bc-68b1-7424-95c5-4a6f6174e414';
const PID =
  'PID|||R1^^^MERCY^MR||Li^Wei||19800405|F|||1 Main St^^Boston^MA^02108';
const ORU = [
  'MSH|^~\\&|LAB|ACME|HUB|X|20261120090000||ORU^R01|m-2|P|2.5.1',
  PID,
  'ORC|RE||F-1',
  'OBR|1||F-1|51990-0^Panel^LN|||202611200800|||||||||||||||20261120085900||LAB|F',
  'NTE|1||Fasting',
  'OBX|1|NM|2951-2^Sodium^LN||140|mmol/L^^UCUM|136-145|N|||F',
  'OBX|2|SN|2345-7^Glucose^LN||>^90|mg/dL|||||F',
  'OBX|3|CWE|600-7^Bacteria^LN|1|112283007^E. coli^SCT~99^Own^L||||||C',
  'OBX|4|TX|22634-0^Report^LN||Line one\\.br\\line \\T\\ two||||||F',
  'OBX|5|ED|11502-2^Report^LN||LAB^application^pdf^Base64^JVBERi0xLjQ=||||||F',
  'SPM|1|||BLD^Blood^HL70487|||||||||||||20261120075500',
].join('\r');
const RDS = [
  'MSH|^~\\&|RX|ACME|HUB|X|20261120090000||RDS^O13|m-3|P|2.5.1',
  PID,
  'ORC|RE||RX-1',
  'RXE||308182^Amoxicillin^RXNORM|500||mg||^One capsule three times a day',
  'RXD|1|308182^Amoxicillin^RXNORM|20261120|30|EA^each||RX-1||Take with food',
  'RXR|PO^Oral^HL70162',
].join('\r');

const CALLER_READERS = Object.fromEntries(
  Object.entries<CallerText>(CALLER_TEXTS).map(
    ([name, { samples: texts, parse, refusals }]) => [
      name,
      {
        samples: texts.map((text) => Buffer.from(text)),
        read: async (bytes: Buffer) => parse(bytes.toString()),
        refusals,
      },
    ],
  ),
);

export const READERS: Readonly<Record<string, FuzzedReader>> = {
  ...CALLER_READERS,
  'CSV of a bulk create': {
    samples: [Buffer.from(CSV)],
    read: readCsv,
    refusals: [],
  },
  'HL7 v2 message': {
    samples: [ADT, ORU, RDS].map((text) => Buffer.from(text)),
    read: async (bytes) => {
      const message = parseHl7(bytes);
      acknowledgementsAsked(message, ACCEPTED);
      readHl7(message, 'America/New_York');
      reportedInHl7(message, 'America/New_York', 'lab');
    },
    refusals: [UnreadableMessageError],
  },
  'FHIR notification': {
    samples: notificationBundles(),
    read: async (bytes) => {
      readFhirBundle(bytes);
      for (const { resources: reported } of reportedInBundle(bytes))
        deliveryOf(
          SUBJECT_ID,
          reported.map(({ resource }) => resource),
        );
    },
    refusals: [UnreadableMessageError],
  },
  'FHIR page of a source': {
    samples: [
      json({
        resourceType: 'Bundle',
        type: 'searchset',
        entry: resources.map((resource) => ({ resource })),
      }),
    ],
    read: async (bytes) => readRecord([jsonOf(bytes)]),
    refusals: [SourceFailure],
  },
  'NDJSON file of a source': {
    samples: [
      Buffer.concat(
        resources.flatMap((resource) => [json(resource), Buffer.from('\n')]),
      ),
    ],
    read: async (bytes) => {
      const limits = { linesMax: 50, bytesMax: 500_000, offsetBytes: 0 };
      for await (const cut of cutLines(inBlocks(bytes, 10_007), limits))
        if (cut.kind === 'lines')
          readPage(
            cut.lines
              .map((line) => readSourceJson(line))
              .flatMap((line) => (line.isRead ? [line.json] : [])),
          );
    },
    refusals: [SourceFailure],
  },
  'C-CDA document, converted': {
    samples: ccdaSamples(),
    read: async (bytes) => void convertSafely(bytes),
    refusals: [],
  },
  'C-CDA document, rendered': {
    samples: ccdaSamples(),
    read: async (bytes) => void (await renderDocument(bytes, 'html')),
    refusals: [],
  },
};

/** Has the fault that the tests of the fuzzing itself look for. */
export const FAULTY_READER = 'a reader with a fault';
const faulty: FuzzedReader = {
  samples: [Buffer.from('abc')],
  read: async (bytes) => {
    if (bytes.includes('~~')) throw new TypeError('two tildes');
  },
  refusals: [],
};

export const readerNamed = (name: string): FuzzedReader | undefined =>
  name === FAULTY_READER ? faulty : READERS[name];

/** Both passes over a file, as a bulk create makes them. */
async function readCsv(bytes: Buffer): Promise<void> {
  const check = await checkCsv(inBlocks(bytes, 4_099));
  if (check.kind === 'refused') return;
  const readRow = createRowReader(check.layout);
  for (const { byteStart, byteEnd, rows } of check.chunks) {
    const records = parseRecords(bytes.subarray(byteStart, byteEnd));
    if (records.length !== rows)
      throw new Error(
        `${records.length} records instead of the ${rows} of the first pass`,
      );
    for (const cells of records) readRow(cells);
  }
}

/** A page of a source, as far as the summary that a clinician reads. */
async function readRecord(
  bundles: readonly Record<string, unknown>[],
): Promise<void> {
  const delivered = bundles.flatMap((bundle) => {
    const { entries } = bundleOf('hie', 'a page', {
      json: bundle,
    } as Parameters<typeof bundleOf>[2]);
    return requestedContent(config, [PATIENT], entries).resources.map(
      (resource) => delivery('hie', resource),
    );
  });
  const merged = mergeDeliveries(
    personOf(sample),
    delivered,
    new Map([['hie', new Set([PATIENT])]]),
  );
  const parts = summarise(readerOf(merged.resources), {
    filter: {},
    madeAt: new Date(0),
  });
  for await (const _ of renderHtml(parts));
}

function readPage(found: readonly unknown[]): void {
  const { resources: kept } = requestedContent(
    config,
    [PATIENT],
    found.map((resource) => ({ resource })),
  );
  mergeDeliveries(
    personOf(sample),
    kept.map((resource) => delivery('hie', resource)),
    new Map(),
  );
}

/**
 * The converter's thread answers an error of its parser as "not well-formed";
 * time and memory are what is at stake.
 */
function convertSafely(bytes: Buffer): void {
  try {
    convertDatedCcda(bytes, { unit: 'u1', patientId: PATIENT });
  } catch (error) {
    if (error instanceof RangeError) throw error;
  }
}

function jsonOf(bytes: Buffer): Record<string, unknown> {
  const read = readSourceJson(bytes);
  if (!read.isRead || typeof read.json !== 'object' || read.json === null)
    return { resourceType: 'Bundle' };
  return read.json as Record<string, unknown>;
}

function resourcesByType(): Map<string, object> {
  const text = JSON.stringify(
    deliveriesOf(sample, ['hie']).map(({ content }) => content),
  );
  const all = JSON.parse(
    text.replaceAll(/Patient\/[\w.-]+/g, `Patient/${PATIENT}`),
  ) as {
    resourceType: string;
  }[];
  const byType = new Map(
    all.map((resource) => [resource.resourceType, resource as object]),
  );
  byType.set('Patient', { ...byType.get('Patient'), id: PATIENT });
  return byType;
}

function notificationBundles(): Buffer[] {
  const patient = {
    resourceType: 'Patient',
    id: PATIENT,
    name: [{ family: 'Brien', given: ['Mary'] }],
    birthDate: '1970-02-03',
    gender: 'female',
  };
  const of = (resource: object) =>
    json({
      resourceType: 'Bundle',
      type: 'collection',
      timestamp: '2026-05-01T08:30:00Z',
      entry: [patient, resource].map((each) => ({
        fullUrl: `urn:uuid:${crypto.randomUUID()}`,
        resource: each,
      })),
    });
  const subject = { reference: `Patient/${PATIENT}` };
  const code = {
    coding: [
      { system: 'http://loinc.org', code: '718-7', display: 'Hemoglobin' },
    ],
  };
  return [
    of({
      resourceType: 'Encounter',
      id: 'e1',
      status: 'finished',
      class: { code: 'IMP' },
      subject,
      period: { start: '2026-04-29', end: '2026-05-01T08:20:00-05:00' },
    }),
    of({
      resourceType: 'Observation',
      id: 'o1',
      status: 'final',
      subject,
      code,
      effectiveDateTime: '2026-05-01',
      valueQuantity: { value: 13.2, unit: 'g/dL' },
    }),
    of({
      resourceType: 'MedicationDispense',
      id: 'd1',
      status: 'completed',
      subject,
      medicationCodeableConcept: code,
      whenHandedOver: '2026-05-01',
    }),
  ];
}

/**
 * Without most of their entries: a mutation should not cost a second of
 * parsing.
 */
function ccdaSamples(): Buffer[] {
  const [file = raise('there is no sample document')] =
    readdirSync(CCDA_FOLDER);
  const whole = gunzipSync(readFileSync(new URL(file, CCDA_FOLDER))).toString(
    'utf8',
  );
  const pieces = whole.split(/(?=<entry[\s>])|(?<=<\/entry>)/);
  const isKept = (piece: string, place: number) =>
    !/^<entry[\s>]/.test(piece) || place % 25 === 1;
  return [Buffer.from(pieces.filter(isKept).join(''))];
}

async function* inBlocks(
  bytes: Buffer,
  sizeBytes: number,
): AsyncGenerator<Buffer> {
  for (let start = 0; start < bytes.length; start += sizeBytes)
    yield bytes.subarray(start, start + sizeBytes);
}

function raise(what: string): never {
  throw new Error(what);
}
