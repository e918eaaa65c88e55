import { hash } from 'node:crypto';
import type { Json } from '#record-summary/fhir';
import type { SourceType } from '../../src/contract/primitives.ts';
import { convertDatedCcda } from '../../src/exchange/records/conversion/ccda-conversion.ts';
import {
  type Delivery,
  deliveryFacts,
} from '../../src/exchange/records/rules/delivery-facts.ts';
import { groupByKeys } from '../../src/exchange/records/rules/grouping.ts';
import { requestedContent } from '../../src/exchange/sources/connectors/collect/page-content.ts';
import type { ResponseEntry } from '../../src/exchange/sources/connectors/collect/plan.ts';
import { readSourceJson } from '../../src/exchange/sources/connectors/http/http-response.ts';
import { resolveSourceConfig } from '../../src/exchange/sources/connectors/source-config.ts';
import type { SamplePatient } from '../../src/local-stack/sample-patients.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import { median } from '../command-parts.ts';
import { deliveriesOfSample } from '../merge/deliveries.ts';

/** Milliseconds of CPU for one record. */
export interface PureWork {
  /** Reading the pages, whom each resource belongs to, hashing. */
  pages: number;
  /** Converting the C-CDA document. */
  ccda: number;
  /** What merging needs to know of each delivery, and grouping. */
  merging: number;
  /** Only JSON.parse and JSON.stringify of the same pages. */
  floor: number;
  deliveries: number;
}

const PAGE = 100;
const BASE_URL = 'https://source.example.org/fhir';

/**
 * The work of a first query without Temporal, PostgreSQL, network and disk, as
 * the median of as many passes after as many others.
 */
export function measurePureWork(
  sample: SamplePatient,
  passes: number,
): PureWork {
  const pages = pagesOf(sample);
  const document = loadCcda(sample);
  const [patientId = ''] = pages[0]?.patientIds ?? [];
  const times = {
    pages: [] as number[],
    ccda: [] as number[],
    merging: [] as number[],
    floor: [] as number[],
  };
  let count = 0;
  for (let pass = 0; pass < 2 * passes; pass += 1) {
    const timed = <T>(part: keyof typeof times, work: () => T): T => {
      const before = process.cpuUsage();
      const made = work();
      const { user, system } = process.cpuUsage(before);
      if (pass >= passes) times[part].push((user + system) / 1_000);
      return made;
    };
    timed('floor', () =>
      pages.map(
        ({ bytes }) => JSON.stringify(JSON.parse(bytes.toString())).length,
      ),
    );
    const native = timed('pages', () => pages.flatMap(deliveriesOfPage));
    const conversion = timed('ccda', () =>
      convertDatedCcda(document, { unit: 'bench', patientId }),
    );
    const converted =
      conversion.kind === 'converted' ? conversion.resources : [];
    const ofDocument = converted.map((content) => ({
      ...deliveryOf('hie', content),
      isConverted: true,
    }));
    const deliveries = [...native, ...ofDocument];
    const ids = new Map(
      pages.map(({ source, patientIds }) => [source, new Set(patientIds)]),
    );
    timed('merging', () => {
      const facts = deliveries.map((each) =>
        deliveryFacts(each, { patientIds: ids.get(each.source as SourceType) }),
      );
      return groupByKeys('patient', facts);
    });
    count = deliveries.length;
  }
  const { pages: reading, ccda, merging, floor } = times;
  return {
    pages: median(reading),
    ccda: median(ccda),
    merging: median(merging),
    floor: median(floor),
    deliveries: count,
  };
}

interface Page {
  source: SourceType;
  patientIds: string[];
  bytes: Buffer;
}

function pagesOf(sample: SamplePatient): Page[] {
  return deliveriesOfSample(sample).flatMap(
    ({ source, patientIds, resources }) =>
      Array.from({ length: Math.ceil(resources.length / PAGE) }, (_, index) => {
        const entry = resources
          .slice(index * PAGE, (index + 1) * PAGE)
          .map((resource) => ({
            fullUrl: `${BASE_URL}/${resource.resourceType}/${resource.id}`,
            resource,
          }));
        const bundle = { resourceType: 'Bundle', type: 'searchset', entry };
        return {
          source,
          patientIds,
          bytes: Buffer.from(JSON.stringify(bundle)),
        };
      }),
  );
}

function deliveriesOfPage({ source, patientIds, bytes }: Page): Delivery[] {
  const read = readSourceJson(bytes);
  if (!read.isRead) throw new Error(read.fault);
  const config = resolveSourceConfig({
    source,
    baseUrl: BASE_URL,
    auth: { kind: 'bearer', token: 'none' },
  });
  const { resources } = requestedContent(
    config,
    patientIds,
    (read.json as { entry: ResponseEntry[] }).entry,
  );
  return resources.map((resource) =>
    deliveryOf(source, resource as unknown as Json),
  );
}

const deliveryOf = (source: SourceType, content: Json): Delivery => ({
  source,
  resourceType: String(content.resourceType),
  sourceId: String(content.id),
  sha256: hash('sha256', JSON.stringify(content)),
  isConverted: false,
  content,
});
