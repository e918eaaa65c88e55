import type { FhirResource } from 'fhir/r4.js';
import type {
  SourceConnector,
  SourcePage,
} from '../../src/exchange/sources/connectors/connector.ts';

export const observation = (id: string, text = 'normal'): FhirResource => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  code: { text },
});

export const page = (
  resources: FhirResource[],
  rest: Partial<SourcePage> = {},
): SourcePage => ({
  resources,
  patientIds: [],
  raw: {
    bytes: Buffer.from(JSON.stringify(resources)),
    contentType: 'application/fhir+json',
  },
  attachments: [],
  skippedAttachments: 0,
  misattributedCount: 0,
  retracted: [],
  reportedErrors: 0,
  next: null,
  ...rest,
});

/** A source that has these pages, each found again by the cursor before it. */
export function sourceOf(pages: SourcePage[]): Pick<
  SourceConnector,
  'begin' | 'resume'
> & {
  pagesFrom(index: number): AsyncGenerator<SourcePage>;
} {
  async function* pagesFrom(index: number): AsyncGenerator<SourcePage> {
    for (const [number, each] of [...pages.entries()].slice(index)) {
      yield {
        ...each,
        next: number + 1 < pages.length ? { page: number + 1 } : null,
      };
    }
  }
  return {
    pagesFrom,
    begin: async () => ({ kind: 'ready', pages: pagesFrom(0) }),
    resume: (cursor) => pagesFrom(Number(cursor.page)),
  };
}
