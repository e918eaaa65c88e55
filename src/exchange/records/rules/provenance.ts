import { isJson, type Json, objectsOf, textOf } from '#record-summary/fhir';
import type { RecordSource } from '../../../contract/primitives.ts';
import { derivedUuid, isOfMessage } from './ids.ts';
import { sourceSystem } from './references.ts';
import { profilesOfType } from './us-core/us-core.ts';

/** One delivery that is part of a consolidated resource. */
export interface ProvenanceOrigin {
  source: RecordSource;
  /** Its id at the source. */
  sourceId: string;
  /**
   * File name of the document that contained it: the value of `meta.source`,
   * accepted by "E14. Get document URL".
   */
  fileName: string;
  collectedAt: Date;
  /** Whether it was converted from a C-CDA document. */
  isConverted: boolean;
  /**
   * What it stated, if a newer version has superseded it: nothing of it is in
   * the resource.
   */
  superseded?: Json;
}

const CLAIMS = profilesOfType('Provenance');

/**
 * System of the identifiers that are file names of documents (`meta.source`).
 */
const DOCUMENT_SYSTEM = 'urn:medical-exchange:document';

/**
 * The Provenance of a consolidated resource: an entity per delivery, an agent
 * per source, which it contains as Organization. `origins` has at least one
 * entry, the leading one first; its file is the `meta.source` of both. It claims
 * its profile of US Core without a check, because all of it is ours.
 */
export function provenanceOf(
  resource: {
    id: string;
    resourceType: string;
    origins: readonly ProvenanceOrigin[];
  },
  patientId: string,
): Json {
  const { id, resourceType } = resource;
  const origins = [...resource.origins].sort((left, right) =>
    originName(left) < originName(right) ? -1 : 1,
  );
  const recordedMs = Math.max(
    ...origins.map(({ collectedAt }) => collectedAt.getTime()),
  );
  const sources = [...new Set(origins.map(({ source }) => source))];
  // All of it is written in canonical order: a record has as many of them as
  // resources.
  return {
    agent: sources.map((source) => ({
      type: {
        coding: [
          {
            code: 'informant',
            display: 'Informant',
            system:
              'http://terminology.hl7.org/CodeSystem/provenance-participant-type',
          },
        ],
      },
      who: {
        display: source,
        identifier: sourceIdentifier(source),
        reference: `#${source}`,
        type: 'Organization',
      },
    })),
    contained: sources.map(organizationOf),
    entity: origins.map((origin) => ({
      // Of an earlier version, the resource is the revision.
      role:
        origin.superseded !== undefined
          ? 'revision'
          : origin.isConverted
            ? 'derivation'
            : 'source',
      what: {
        display: `${resourceType} of ${origin.source}${isOfMessage(origin.sourceId) ? ', by message' : ''}`,
        extension: [
          {
            url: `${sourceSystem(origin.source)}:id`,
            valueString: origin.sourceId,
          },
        ],
        identifier: { system: DOCUMENT_SYSTEM, value: origin.fileName },
        type: origin.isConverted ? 'DocumentReference' : resourceType,
      },
    })),
    id: generatedProvenanceId(patientId, id),
    meta: { profile: CLAIMS, source: resource.origins[0]?.fileName },
    recorded: new Date(recordedMs).toISOString(),
    resourceType: 'Provenance',
    target: [{ reference: `${resourceType}/${id}` }],
  };
}

const sourceIdentifier = (source: string): Json => ({
  system: 'urn:medical-exchange:source',
  value: source,
});

/**
 * Our own description of a source, so that the agent can be resolved wherever
 * the Provenance goes.
 */
const organizationOf = (source: string): Json => ({
  active: true,
  id: source,
  identifier: [sourceIdentifier(source)],
  name: source,
  resourceType: 'Organization',
});

const originName = ({ source, sourceId, fileName }: ProvenanceOrigin): string =>
  `${source} ${sourceId} ${fileName}`;

/** The id of the Provenance that is generated for a consolidated resource. */
export const generatedProvenanceId = (
  patientId: string,
  resourceId: string,
): string => derivedUuid([patientId, 'Provenance', resourceId]);

const STATED_ON = 'urn:medical-exchange:stated-on';
/** Where PostgreSQL finds it in a resource. */
export const STATED_ON_PATH = `$.meta.extension[*] ? (@.url == "${STATED_ON}").valueDateTime`;

/**
 * The resource with the time of the document that states it, FHIR dateTime, as
 * an extension of its `meta`.
 */
export const withStatedOn = (resource: Json, time: string | undefined): Json =>
  time === undefined
    ? resource
    : {
        ...resource,
        meta: {
          ...(isJson(resource.meta) ? resource.meta : {}),
          extension: [{ url: STATED_ON, valueDateTime: time }],
        },
      };

/**
 * The time of the document that a resource was converted from; undefined for
 * others.
 */
export const statedOn = ({ meta }: Json): string | undefined =>
  isJson(meta)
    ? textOf(
        objectsOf(meta.extension).find(({ url }) => url === STATED_ON)
          ?.valueDateTime,
      )
    : undefined;
