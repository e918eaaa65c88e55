import { derivedUuid } from './ids.ts';
import { canonical, type Json } from './json.ts';
import { sourceSystem } from './rewritten.ts';

export interface ProvenanceOrigin {
  source: string;
  sourceId: string;
  fileName: string;
  collectedAt: Date;
  isConverted: boolean;
}

/** File names of documents, as `meta.source` gives them. */
const DOCUMENT_SYSTEM = 'urn:medical-exchange:document';

/** Where a consolidated resource comes from: an entity for each delivery, an agent for each source. */
export function provenanceOf(
  resource: { id: string; resourceType: string; origins: readonly ProvenanceOrigin[] },
  patientId: string,
): Json {
  const { id, resourceType } = resource;
  const origins = [...resource.origins].sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
  const recordedMs = Math.max(...origins.map(({ collectedAt }) => collectedAt.getTime()));
  const sources = [...new Set(origins.map(({ source }) => source))];
  return canonical({
    resourceType: 'Provenance',
    id: derivedUuid([patientId, 'Provenance', id]),
    target: [{ reference: `${resourceType}/${id}` }],
    recorded: new Date(recordedMs).toISOString(),
    agent: sources.map((source) => ({
      type: {
        coding: [
          {
            system: 'http://terminology.hl7.org/CodeSystem/provenance-participant-type',
            code: 'informant',
            display: 'Informant',
          },
        ],
      },
      who: { identifier: { system: 'urn:medical-exchange:source', value: source }, display: source },
    })),
    entity: origins.map((origin) => ({
      role: origin.isConverted ? 'derivation' : 'source',
      what: {
        type: origin.isConverted ? 'DocumentReference' : resourceType,
        identifier: { system: DOCUMENT_SYSTEM, value: origin.fileName },
        display: `${resourceType} of ${origin.source}`,
        extension: [
          {
            url: `${sourceSystem(origin.source)}:id`,
            valueString: origin.sourceId,
          },
        ],
      },
    })),
  }) as Json;
}

const nameOf = ({ source, sourceId, fileName }: ProvenanceOrigin): string =>
  `${source} ${sourceId} ${fileName}`;
